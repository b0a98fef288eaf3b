// EmitRngKernel: rng-bit-generator. Both algorithms are counter-based (Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011), so every element is computed from its position, in vector code.
// Which counter and word an element gets follows XLA, to the bit.
#include <algorithm>

#include "core/base/status.h"
#include "core/codegen/loop_nest.h"

namespace shoal {
namespace {

using V = llvm::Value*;

// Arithmetic on u32 and u64 lanes.
class Words {
 public:
  explicit Words(LaneBuilder& lanes) : lanes_(lanes), b(lanes.b) {}
  V C(V like, uint64_t value) { return llvm::ConstantInt::get(like->getType(), value); }
  V Low(V wide) { return b.CreateTrunc(wide, lanes_.LikeLanes(wide, b.getInt32Ty())); }
  V High(V wide) { return Low(b.CreateLShr(wide, 32)); }
  V Join(V low, V high) {
    V wide_low = b.CreateZExt(low, lanes_.LikeLanes(low, b.getInt64Ty()));
    V wide_high = b.CreateZExt(high, lanes_.LikeLanes(high, b.getInt64Ty()));
    return b.CreateOr(wide_low, b.CreateShl(wide_high, 32));
  }
  V Rotate(V x, int bits) { return b.CreateOr(b.CreateShl(x, bits), b.CreateLShr(x, 32 - bits)); }

  struct Two {
    V x0, x1;
  };
  // 20 rounds, a key injected after every fourth.
  Two ThreeFry(Two x, Two key) {
    constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    V keys[3] = {key.x0, key.x1, b.CreateXor(b.CreateXor(key.x0, key.x1), C(key.x0, 0x1BD11BDA))};
    x = {b.CreateAdd(x.x0, keys[0]), b.CreateAdd(x.x1, keys[1])};
    for (int group = 0; group < 5; ++group) {
      for (int rotation : kRotations[group % 2]) {
        x.x0 = b.CreateAdd(x.x0, x.x1);
        x.x1 = b.CreateXor(x.x0, Rotate(x.x1, rotation));
      }
      x.x0 = b.CreateAdd(x.x0, keys[(group + 1) % 3]);
      x.x1 = b.CreateAdd(b.CreateAdd(x.x1, keys[(group + 2) % 3]), C(x.x1, static_cast<uint64_t>(group) + 1));
    }
    return x;
  }

  struct Four {
    V x[4];
  };
  // 10 rounds of two multiplications.
  Four Philox(Four s, Two key) {
    auto product = [&](V x, uint64_t factor) {
      V wide = b.CreateZExt(x, lanes_.LikeLanes(x, b.getInt64Ty()));
      return b.CreateMul(wide, C(wide, factor));
    };
    for (int round = 0; round < 10; ++round) {
      V p0 = product(s.x[0], 0xD2511F53), p1 = product(s.x[2], 0xCD9E8D57);
      s = {{b.CreateXor(b.CreateXor(High(p1), s.x[1]), key.x0), Low(p1),
            b.CreateXor(b.CreateXor(High(p0), s.x[3]), key.x1), Low(p0)}};
      key = {b.CreateAdd(key.x0, C(key.x0, 0x9E3779B9)), b.CreateAdd(key.x1, C(key.x1, 0xBB67AE85))};
    }
    return s;
  }

 private:
  LaneBuilder& lanes_;
  llvm::IRBuilder<>& b;
};

class RngEmitter {
 public:
  RngEmitter(const KernelView& view, const std::string& name, IrModule& ir)
      : view_(view),
        name_(name),
        ir_(ir),
        bits_(view.roots[1].shape),
        state_words_(view.roots[0].shape.ElementCount()) {
    philox_ = view.root->attributes<RngAttributes>().algorithm != RandomAlgorithm::kThreeFry;
    wide_ = ByteWidth(bits_.element_type()) == 8;
    if (!philox_ && !wide_) ChooseSplit();
  }

  absl::StatusOr<Kernel> Emit() {
    if (view_.operand_buffers != 1 || view_.roots[0].shape.element_type() != ElementType::kU64)
      return NoEmitter(*view_.op);
    if (state_words_ != 2 && !(philox_ && state_words_ == 3)) return NoEmitter(*view_.op);
    Kernel kernel;
    if (bits_.ElementCount() > 0) SHOAL_RETURN_IF_ERROR(EmitBits(kernel));
    SHOAL_RETURN_IF_ERROR(EmitState(kernel));
    return kernel;
  }

 private:
  // threefry makes two words of a counter: they are neighbours along the first even dimension, or the longest
  // one.
  void ChooseSplit() {
    half_ = DimVector(bits_.dims().begin(), bits_.dims().end());
    for (int64_t d = 0; d < bits_.rank() && split_ < 0; ++d) {
      if (bits_.dim(d) % 2 == 0) split_ = d;
    }
    for (int64_t d = 0; d < bits_.rank() && (split_ < 0 || bits_.dim(split_) % 2 != 0); ++d) {
      if (split_ < 0 || bits_.dim(d) > bits_.dim(split_)) split_ = d;
    }
    if (split_ >= 0) half_[split_] = (half_[split_] + 1) / 2;
  }

  int64_t Counters() const {
    int64_t elements = bits_.ElementCount();
    if (philox_) return wide_ ? (2 * elements + 3) / 4 : (elements + 3) / 4;
    return wide_ ? elements : Product(half_);
  }

  V StateWord(KernelFunctionEmitter& f, int64_t i) {
    auto& b = f.lanes().b;
    return b.CreateLoad(b.getInt64Ty(), b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), f.Buffer(0), i));
  }

  absl::Status EmitBits(Kernel& kernel) {
    std::vector<int64_t> around;
    if (split_ >= 0) around.push_back(split_);
    double cost = 1.0;
    KernelView no_leaves = view_;
    LoopNest nest(ChooseLoops(no_leaves, bits_, around), view_, cost);
    KernelPhase phase = nest.Phase(name_, bits_.ElementCount(), cost);
    KernelFunctionEmitter f(ir_, name_, nest.width());
    f.BindLeaves(view_);
    auto body = [&](const Digits& at, V mask) -> absl::Status {
      V value = philox_ ? PhiloxAt(f, at) : ThreeFryAt(f, at);
      auto& b = f.lanes().b;
      ElementType type = bits_.element_type();
      ElementType as_uint = ByteWidth(type) == 1   ? ElementType::kU8
                            : ByteWidth(type) == 2 ? ElementType::kU16
                            : ByteWidth(type) == 4 ? ElementType::kU32
                                                   : ElementType::kU64;
      value = b.CreateTrunc(value, f.lanes().LikeLanes(value, b.getIntNTy(8 * ByteWidth(type))));
      StoreAt(f.lanes(), f.elements().index(), as_uint, {value}, f.Buffer(view_.OutputBuffer(1)), at, mask);
      return absl::OkStatus();
    };
    SHOAL_RETURN_IF_ERROR(nest.Emit(f, body));
    f.Finish();
    kernel.phases.push_back(std::move(phase));
    return absl::OkStatus();
  }

  V ThreeFryAt(KernelFunctionEmitter& f, const Digits& at) {
    IndexBuilder& index = f.elements().index();
    LaneBuilder& lanes = f.lanes();
    Words w(lanes);
    V counter, part = nullptr;
    if (wide_) {
      counter = index.Value(index.Linear(at));
    } else if (split_ < 0) {
      counter = lanes.I64(0);
    } else {
      std::vector<Index> position = index.Dimensions(at, bits_);
      part = index.Value(index.Rem(position[split_], 2));
      position[split_] = index.Div(position[split_], 2);
      counter =
          index.Value(index.Linear(index.FromDimensions(position, Shape::Array(ElementType::kU32, half_))));
    }
    counter = lanes.Splat(lanes.Binary(llvm::Instruction::Add, counter, StateWord(f, 1)));
    V key = lanes.Splat(StateWord(f, 0));
    Words::Two x = w.ThreeFry({w.Low(counter), w.High(counter)}, {w.Low(key), w.High(key)});
    if (wide_) return w.Join(x.x0, x.x1);
    if (part == nullptr) return x.x0;
    return lanes.Select(lanes.Compare(llvm::CmpInst::ICMP_EQ, lanes.Splat(part), lanes.I64(0)), x.x0, x.x1);
  }

  V PhiloxAt(KernelFunctionEmitter& f, const Digits& at) {
    IndexBuilder& index = f.elements().index();
    LaneBuilder& lanes = f.lanes();
    auto& b = lanes.b;
    Words w(lanes);
    Index linear = index.Linear(at);
    int64_t per_counter = wide_ ? 2 : 4;
    V counter = lanes.Splat(index.Value(index.Div(linear, per_counter)));
    V part = lanes.Splat(index.Value(index.Rem(linear, per_counter)));
    // A 128-bit counter.
    V base = lanes.Splat(StateWord(f, 1));
    V high = lanes.Splat(
        StateWord(f, state_words_ == 3 ? 2 : 0));  // XLA takes the key for it if there is no third word
    V low = b.CreateAdd(base, counter);
    V carry = b.CreateZExt(b.CreateICmpULT(low, base), low->getType());
    high = b.CreateAdd(high, carry);
    V key = lanes.Splat(StateWord(f, 0));
    Words::Four x =
        w.Philox({{w.Low(low), w.High(low), w.Low(high), w.High(high)}}, {w.Low(key), w.High(key)});
    auto is_part = [&](int64_t k) { return b.CreateICmpEQ(part, lanes.Splat(lanes.I64(k))); };
    if (wide_) return b.CreateSelect(is_part(0), w.Join(x.x[0], x.x[1]), w.Join(x.x[2], x.x[3]));
    V value = x.x[3];
    for (int64_t k = 2; k >= 0; --k) value = b.CreateSelect(is_part(k), x.x[k], value);
    return value;
  }

  // The key stays, the counter moves on.
  absl::Status EmitState(Kernel& kernel) {
    KernelPhase phase;
    phase.function = name_ + ".state";
    phase.cost_ns = 5;
    KernelFunctionEmitter f(ir_, phase.function, 1);
    auto& b = f.lanes().b;
    V key = StateWord(f, 0), low = StateWord(f, 1);
    V moved = b.CreateAdd(low, f.lanes().I64(Counters()));
    V words[3] = {key, moved, nullptr};
    if (state_words_ == 3) {
      V carry = b.CreateZExt(b.CreateICmpULT(moved, low), f.lanes().i64());
      words[2] = b.CreateAdd(StateWord(f, 2), carry);
    }
    auto store = [&] {
      for (int64_t i = 0; i < state_words_; ++i) {
        V slot = b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), f.Buffer(view_.OutputBuffer(0)), i);
        b.CreateStore(words[i], slot);
      }
      return absl::OkStatus();
    };
    SHOAL_RETURN_IF_ERROR(EmitIf(f.lanes(), b.CreateICmpSLT(f.begin(), f.end()), store));
    f.Finish();
    kernel.phases.push_back(std::move(phase));
    return absl::OkStatus();
  }

  const KernelView& view_;
  const std::string& name_;
  IrModule& ir_;
  const Shape bits_;
  int64_t state_words_;
  bool philox_ = false, wide_ = false;
  int64_t split_ = -1;
  DimVector half_;
};

}  // namespace

absl::StatusOr<Kernel> EmitRngKernel(const KernelView& view, const std::string& name, IrModule& ir) {
  return RngEmitter(view, name, ir).Emit();
}

}  // namespace shoal
