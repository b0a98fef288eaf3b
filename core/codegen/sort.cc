// EmitSortKernel: sort and topk. A row is a unit. Where the comparator says "key(a) < key(b)" for a function
// of one operand (as JAX's do), the kernel computes integer keys, vectorised, and shoal_sort_row sorts those;
// any other comparator is compiled and called for pairs.
#include <algorithm>
#include <set>

#include "core/base/status.h"
#include "core/codegen/kernel_view.h"
#include "core/codegen/sort_row.h"
#include "core/codegen/total_order.h"

namespace shoal {
namespace {

// What a comparator compares, if it is a key.
struct KeyComparator {
  const Instruction* key = nullptr;        // computed from
  const Instruction* parameter = nullptr;  // this one, of
  int64_t operand = 0;
  bool descending = false;
};

// The parameters that `op` depends on.
std::set<int64_t> ParametersOf(const Instruction& op) {
  if (op.opcode() == Opcode::kParameter) return {op.parameter_number()};
  std::set<int64_t> all;
  for (const Instruction* operand : op.operands()) {
    std::set<int64_t> some = ParametersOf(*operand);
    all.insert(some.begin(), some.end());
  }
  return all;
}

// Whether both compute the same of their parameter.
bool SameFunction(const Instruction& a, const Instruction& b) {
  if (a.opcode() != b.opcode() || a.shape() != b.shape() || a.operand_count() != b.operand_count())
    return false;
  if (a.opcode() == Opcode::kParameter) return true;
  if (!(a.attributes() == b.attributes()) || !a.called().empty()) return false;
  for (int64_t i = 0; i < a.operand_count(); ++i) {
    if (!SameFunction(*a.operand(i), *b.operand(i))) return false;
  }
  return true;
}

std::optional<KeyComparator> AsKey(const Computation& comparator) {
  const Instruction& root = *comparator.root();
  if (root.opcode() != Opcode::kCompare || IsComplex(root.operand(0)->shape().element_type()))
    return std::nullopt;
  ComparisonDirection direction = root.attributes<CompareAttributes>().direction;
  bool less = direction == ComparisonDirection::kLt, greater = direction == ComparisonDirection::kGt;
  if (!less && !greater) return std::nullopt;
  std::set<int64_t> left = ParametersOf(*root.operand(0)), right = ParametersOf(*root.operand(1));
  if (left.size() != 1 || right.size() != 1 || !SameFunction(*root.operand(0), *root.operand(1)))
    return std::nullopt;
  int64_t a = *left.begin(), b = *right.begin();
  if (a / 2 != b / 2 || a == b) return std::nullopt;
  KeyComparator key;
  key.key = root.operand(0);
  key.parameter = comparator.parameter(a);
  key.operand = a / 2;
  key.descending = greater != (a > b);
  return key;
}

class SortEmitter {
 public:
  SortEmitter(const KernelView& view, const std::string& name, IrModule& ir)
      : view_(view), op_(*view.root), name_(name), ir_(ir), shape_(op_.operand(0)->shape()) {
    is_top_k_ = op_.opcode() == Opcode::kTopK;
    dimension_ = is_top_k_ ? shape_.rank() - 1 : op_.attributes<SortAttributes>().dimension;
    count_ = shape_.rank() == 0 ? 1 : shape_.dim(dimension_);
    stride_ = shape_.rank() == 0 ? 1 : RowMajorStrides(shape_.dims())[dimension_];
    take_ = is_top_k_ ? op_.attributes<TopKAttributes>().k : count_;
  }

  absl::StatusOr<Kernel> Emit() {
    Kernel kernel;
    if (shape_.ElementCount() == 0) return kernel;
    if (count_ >= (int64_t{1} << 32)) return NoEmitter(op_);
    KernelPhase phase =
        PhaseOf(name_, shape_.ElementCount() / count_, 12 * static_cast<double>(shape_.ElementCount()));
    std::optional<KeyComparator> key;
    llvm::Function *keys = nullptr, *less = nullptr;
    if (!is_top_k_) key = AsKey(*op_.called(0));
    if (is_top_k_ || key.has_value()) {
      SHOAL_ASSIGN_OR_RETURN(keys, EmitKeys(key));
    } else {
      SHOAL_ASSIGN_OR_RETURN(less, EmitLess());
    }
    SHOAL_RETURN_IF_ERROR(EmitRows(keys, less));
    kernel.phases.push_back(std::move(phase));
    return kernel;
  }

 private:
  int64_t operands() const { return op_.operand_count(); }
  ElementType TypeOf(int64_t k) const { return op_.operand(k)->shape().element_type(); }

  llvm::Function* NewFunction(const std::string& suffix, llvm::Type* result,
                              llvm::ArrayRef<llvm::Type*> types) {
    auto* type = llvm::FunctionType::get(result, types, false);
    auto* f = llvm::Function::Create(type, llvm::Function::InternalLinkage, name_ + suffix, *ir_.module);
    return f;
  }

  llvm::Value* RowPointer(LaneBuilder& lanes, llvm::Value* table, int64_t k) {
    auto& b = lanes.b;
    return b.CreateLoad(b.getPtrTy(), b.CreateConstInBoundsGEP1_64(b.getPtrTy(), table, k));
  }

  // void keys(inputs, begin, end, out): of elements [begin, end)
  absl::StatusOr<llvm::Function*> EmitKeys(const std::optional<KeyComparator>& comparator) {
    int64_t operand = comparator.has_value() ? comparator->operand : 0;
    LoopSpace space{{count_}, {1}};
    LaneBuilder lanes(ir_, std::min(8, ChooseWidth(view_, count_)));
    auto& b = lanes.b;
    llvm::Function* f =
        NewFunction(".keys", b.getVoidTy(), {b.getPtrTy(), lanes.i64(), lanes.i64(), b.getPtrTy()});
    b.SetInsertPoint(llvm::BasicBlock::Create(lanes.context(), "entry", f));
    ElementEmitter e(lanes);
    llvm::Value* row = RowPointer(lanes, f->getArg(0), operand);
    // The row as an array of its own, `stride_` apart.
    Shape row_shape = Shape::Array(TypeOf(operand), {count_ * stride_});
    auto step = [&](llvm::Value* i) -> absl::Status {
      ElementEmitter::Scope scope(e);
      Index index = {i, lanes.width() == 1 ? 0 : 1, nullptr, 1};
      Element x = e.Load(row_shape, row, {{index, stride_, count_}});
      ElementType type = TypeOf(operand);
      if (comparator.has_value()) {
        ElementEmitter inner(lanes);
        inner.BindElement(comparator->parameter, {}, {x});
        SHOAL_ASSIGN_OR_RETURN(x, inner.Emit(*comparator->key, {}));
        type = comparator->key->shape().element_type();
      }
      llvm::Value* key = SortKey(lanes, type, x.re);
      bool descending = is_top_k_ ? op_.attributes<TopKAttributes>().largest : comparator->descending;
      if (descending) key = b.CreateNot(key);
      StoreKey(lanes, key, e.index().Value(index), b.CreateSub(i, f->getArg(1)), f->getArg(3));
      return absl::OkStatus();
    };
    int width = lanes.width();
    llvm::Value *begin = f->getArg(1), *end = f->getArg(2);
    llvm::Value* rest = b.CreateURem(b.CreateSub(end, begin), lanes.I64(width));
    llvm::Value* whole = b.CreateSub(end, rest);
    SHOAL_RETURN_IF_ERROR(EmitLoop(lanes, begin, whole, width, step));
    lanes.set_width(1);
    SHOAL_RETURN_IF_ERROR(EmitLoop(lanes, whole, end, 1, step));
    b.CreateRetVoid();
    return f;
  }

  void StoreKey(LaneBuilder& lanes, llvm::Value* key, llvm::Value* position, llvm::Value* i,
                llvm::Value* out) {
    auto& b = lanes.b;
    wide_ = key->getType()->getScalarSizeInBits() == 64;
    if (wide_) {
      llvm::Value* target = b.CreateGEP(lanes.i64(), out, b.CreateMul(i, lanes.I64(2)));
      lanes.Store(ElementType::kC128,
                  {b.CreateBitCast(key, lanes.LikeLanes(key, b.getDoubleTy())),
                   b.CreateBitCast(position, lanes.LikeLanes(position, b.getDoubleTy()))},
                  target, nullptr);
      return;
    }
    llvm::Value* packed = b.CreateShl(b.CreateZExt(key, lanes.LikeLanes(key, lanes.i64())), 32);
    lanes.Store(ElementType::kU64, {b.CreateOr(packed, position)}, b.CreateGEP(lanes.i64(), out, i), nullptr);
  }

  // bool less(inputs, i, j)
  absl::StatusOr<llvm::Function*> EmitLess() {
    LaneBuilder lanes(ir_, 1);
    auto& b = lanes.b;
    llvm::Function* f = NewFunction(".less", b.getInt1Ty(), {b.getPtrTy(), lanes.i64(), lanes.i64()});
    f->addRetAttr(llvm::Attribute::ZExt);
    b.SetInsertPoint(llvm::BasicBlock::Create(lanes.context(), "entry", f));
    ElementEmitter e(lanes);
    std::vector<Element> arguments;
    for (int64_t k = 0; k < operands(); ++k) {
      llvm::Value* row = RowPointer(lanes, f->getArg(0), k);
      Shape row_shape = Shape::Array(TypeOf(k), {count_ * stride_});
      for (unsigned side : {1u, 2u}) {
        arguments.push_back(e.Load(row_shape, row, {{e.index().Uniform(f->getArg(side)), stride_, count_}}));
      }
    }
    SHOAL_ASSIGN_OR_RETURN(std::vector<Element> result, e.EmitRegion(*op_.called(0), arguments));
    b.CreateRet(result[0].re);
    return f;
  }

  llvm::Constant* Widths() {
    std::vector<int32_t> widths;
    for (int64_t k = 0; k < operands(); ++k) widths.push_back(ByteWidth(TypeOf(k)));
    llvm::Constant* data = llvm::ConstantDataArray::get(ir_.context->llvm, llvm::ArrayRef<int32_t>(widths));
    return new llvm::GlobalVariable(*ir_.module, data->getType(), true, llvm::GlobalValue::InternalLinkage,
                                    data, name_ + ".widths");
  }

  absl::Status EmitRows(llvm::Function* keys, llvm::Function* less) {
    KernelFunctionEmitter f(ir_, name_, 1);
    LaneBuilder& lanes = f.lanes();
    auto& b = lanes.b;
    llvm::Type* pointer = b.getPtrTy();
    llvm::Value* inputs = b.CreateAlloca(llvm::ArrayType::get(pointer, operands()));
    llvm::Value* outputs = b.CreateAlloca(llvm::ArrayType::get(pointer, operands()));
    // The fields of SortRowArguments; every one takes 8 bytes.
    static_assert(sizeof(SortRowArguments) == 11 * 8);
    llvm::Value* arguments = b.CreateAlloca(llvm::ArrayType::get(lanes.i64(), 11));
    auto set = [&](int field, llvm::Value* value) {
      b.CreateStore(value, b.CreateConstInBoundsGEP1_64(lanes.i64(), arguments, field));
    };
    auto* null = llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(lanes.context()));
    set(0, lanes.I64(count_));
    set(1, lanes.I64(stride_));
    set(2, lanes.I64(take_));
    set(3, lanes.I64(operands()));
    set(4, Widths());
    set(5, inputs);
    set(6, outputs);
    set(7, null);
    set(8, lanes.I64(wide_ ? 1 : 0));
    set(9, keys == nullptr ? static_cast<llvm::Value*>(null) : keys);
    set(10, less == nullptr ? static_cast<llvm::Value*>(null) : less);
    llvm::FunctionCallee sort_row = ir_.module->getOrInsertFunction("shoal_sort_row", b.getVoidTy(), pointer);
    auto row = [&](llvm::Value* unit) -> absl::Status {
      // Row `unit` begins at (unit / stride) * count * stride + unit % stride.
      llvm::Value* outer = b.CreateUDiv(unit, lanes.I64(stride_));
      llvm::Value* inner = b.CreateURem(unit, lanes.I64(stride_));
      auto first = [&](int64_t length) {
        return b.CreateAdd(b.CreateMul(outer, lanes.I64(length * stride_)), inner);
      };
      auto slot = [&](int64_t buffer, int64_t width, int64_t length) {
        return b.CreateGEP(b.getInt8Ty(), f.Buffer(buffer), b.CreateMul(first(length), lanes.I64(width)));
      };
      for (int64_t k = 0; k < operands(); ++k) {
        int64_t width = ByteWidth(TypeOf(k));
        int64_t from = view_.op == view_.root ? k : view_.LeafBuffer(op_.operand(k));
        b.CreateStore(slot(from, width, count_), b.CreateConstInBoundsGEP1_64(pointer, inputs, k));
        b.CreateStore(slot(view_.OutputBuffer(k), width, take_),
                      b.CreateConstInBoundsGEP1_64(pointer, outputs, k));
      }
      if (is_top_k_) set(7, slot(view_.OutputBuffer(1), 4, take_));
      b.CreateCall(sort_row, {arguments});
      return absl::OkStatus();
    };
    SHOAL_RETURN_IF_ERROR(EmitLoop(lanes, f.begin(), f.end(), 1, row));
    f.Finish();
    return absl::OkStatus();
  }

  const KernelView& view_;
  const Instruction& op_;
  const std::string& name_;
  IrModule& ir_;
  const Shape shape_;
  bool is_top_k_ = false, wide_ = false;
  int64_t dimension_ = 0, count_ = 1, stride_ = 1, take_ = 1;
};

}  // namespace

absl::StatusOr<Kernel> EmitSortKernel(const KernelView& view, const std::string& name, IrModule& ir) {
  for (const Instruction* operand : view.root->operands()) {
    if (!view.IsLeaf(operand)) return NoEmitter(*view.op);
  }
  return SortEmitter(view, name, ir).Emit();
}

}  // namespace shoal
