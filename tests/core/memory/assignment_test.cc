// Programs run twice: by the meaning of their instructions on values, and through the slices that buffer
// assignment gave them, on poisoned memory. Both must agree, and what is not donated must stay as it was.
#include "core/memory/assignment.h"

#include <cstring>
#include <random>

#include "core/hlo/parser.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

constexpr int kLength = 5;
using Array = std::vector<int32_t>;
using Arrays = std::vector<Array>;

Sharing Share(const Instruction& instruction, int64_t operand, int64_t) {
  if (instruction.opcode() == Opcode::kDynamicUpdateSlice)
    return operand == 0 ? Sharing::kWanted : Sharing::kNever;
  return instruction.opcode() == Opcode::kAdd || instruction.opcode() == Opcode::kMultiply ? Sharing::kAllowed
                                                                                           : Sharing::kNever;
}
int64_t Scratch(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kSubtract ? 100 : 0;
}

// What one plain instruction does. An update writes its second operand's element 0 at index element 0 of the
// third.
Array Compute(const Instruction& instruction, const Arrays& in) {
  Array out = in[0];
  const size_t n = out.size();
  auto at = [&](size_t k, size_t i) { return in[k].size() == 1 ? in[k][0] : in[k][i]; };
  for (size_t i = 0; i < n; ++i) {
    const uint32_t a = at(0, i), b = in.size() > 1 ? at(1, i) : 0;
    switch (instruction.opcode()) {
      case Opcode::kAdd:
        out[i] = a + b;
        break;
      case Opcode::kSubtract:
        out[i] = a - b;
        break;
      case Opcode::kMultiply:
        out[i] = a * b;
        break;
      case Opcode::kCompare:
        out[i] = static_cast<int32_t>(a) < static_cast<int32_t>(b);
        break;
      case Opcode::kDynamicUpdateSlice:
        if (i == static_cast<uint32_t>(in[2][0]) % n) out[i] = in[1][0];
        break;
      default:
        ADD_FAILURE() << instruction.ToString();
    }
  }
  return out;
}

Array FromLiteral(const Literal& literal) {
  Array array(literal.shape().ElementCount());
  for (size_t i = 0; i < array.size(); ++i)
    array[i] = static_cast<int32_t>(literal.AsInt(static_cast<int64_t>(i)));
  return array;
}

// The meaning: leaves in, leaves out.
Arrays Interpret(const Computation& computation, const Arrays& parameters) {
  absl::flat_hash_map<const Instruction*, Arrays> results;
  for (const Instruction* instruction : computation.instructions()) {
    Arrays in;
    for (const Instruction* operand : instruction->operands()) {
      for (const Array& leaf : results.at(operand)) in.push_back(leaf);
    }
    Arrays& out = results[instruction];
    switch (instruction->opcode()) {
      case Opcode::kParameter: {
        size_t begin = 0;
        for (int64_t i = 0; i < instruction->parameter_number(); ++i) {
          begin += computation.parameter(i)->shape().Leaves().size();
        }
        out.assign(parameters.begin() + begin,
                   parameters.begin() + begin + instruction->shape().Leaves().size());
        break;
      }
      case Opcode::kConstant:
        out = {FromLiteral(instruction->literal())};
        break;
      case Opcode::kTuple:
        out = in;
        break;
      case Opcode::kGetTupleElement:
        out = {in[FirstLeaf(instruction->operand(0)->shape(), instruction->tuple_index())]};
        break;
      case Opcode::kWhile:
        while (Interpret(*instruction->called(0), in)[0][0] != 0) in = Interpret(*instruction->called(1), in);
        out = in;
        break;
      case Opcode::kConditional: {
        const int branch = in[0][0] != 0 ? 0 : 1;
        out = Interpret(*instruction->called(branch), results.at(instruction->operand(branch + 1)));
        break;
      }
      default:
        out = {Compute(*instruction, in)};
    }
  }
  return results.at(computation.root());
}

// Runs a program through its slices.
class Machine {
 public:
  Machine(const Module& module, const BufferAssignment& buffers, const Arrays& parameters)
      : module_(module), buffers_(buffers) {
    Block({1, 0});  // run info
    Poison(buffers.temp_bytes());
    bases_.emplace_back(buffers.constants());
    for (const Array& parameter : parameters) Block(parameter);
    for (const Shape& shape : module.entry()->root()->shape().Leaves()) Poison(shape.ByteSize());
    parameter_count_ = parameters.size();
  }

  Arrays Run() {
    RunAll(*module_.entry());
    Copy(buffers_.AtEnd());
    Arrays results;
    for (size_t i = 0; i < buffers_.result_donors().size(); ++i) {
      const int donor = buffers_.result_donors()[i];
      const size_t base =
          donor >= 0 ? kFirstParameterBase + donor : kFirstParameterBase + parameter_count_ + i;
      const Shape shape = module_.entry()->root()->shape().Leaves()[i];
      results.push_back(Read({static_cast<int32_t>(base), 0, shape.ByteSize()}, shape));
    }
    return results;
  }
  Array Parameter(int i, const Shape& shape) {
    return Read({kFirstParameterBase + i, 0, shape.ByteSize()}, shape);
  }

 private:
  void Poison(int64_t bytes) { bases_.emplace_back(bytes, '\x5a'); }
  void Block(const Array& array) {
    bases_.emplace_back(reinterpret_cast<const char*>(array.data()), array.size() * sizeof(int32_t));
  }
  char* At(const Slice& slice) {
    EXPECT_LE(slice.offset + slice.bytes, static_cast<int64_t>(bases_[slice.base].size()));
    return bases_[slice.base].data() + slice.offset;
  }
  Array Read(const Slice& slice, const Shape& shape) {
    Array array(shape.ElementCount());
    for (size_t i = 0; i < array.size(); ++i) {
      if (shape.element_type() == ElementType::kPred) {
        array[i] = At(slice)[i];
      } else {
        std::memcpy(&array[i], At(slice) + i * sizeof(int32_t), sizeof(int32_t));
      }
    }
    return array;
  }
  void Write(const Slice& slice, const Array& array, const Shape& shape) {
    for (size_t i = 0; i < array.size(); ++i) {
      if (shape.element_type() == ElementType::kPred) {
        At(slice)[i] = static_cast<char>(array[i]);
      } else {
        std::memcpy(At(slice) + i * sizeof(int32_t), &array[i], sizeof(int32_t));
      }
    }
  }
  void Copy(const std::vector<SliceCopy>& copies) {
    for (const SliceCopy& copy : copies) std::memcpy(At(copy.to), At(copy.from), copy.from.bytes);
  }

  void RunAll(const Computation& computation) {
    for (const Instruction* instruction : computation.instructions()) {
      switch (instruction->opcode()) {
        case Opcode::kWhile:
          Copy(buffers_.AtLoopEntry(instruction));
          while (true) {
            RunAll(*instruction->called(0));
            if (*At(buffers_.slice(instruction->called(0)->root())) == 0) break;
            RunAll(*instruction->called(1));
            Copy(buffers_.AtLoopBack(instruction));
          }
          break;
        case Opcode::kConditional: {
          const int branch = *At(buffers_.slice(instruction->operand(0))) != 0 ? 0 : 1;
          RunAll(*instruction->called(branch));
          Copy(buffers_.AtBranchEnd(instruction, branch));
          break;
        }
        default:
          if (!OnlyForwards(*instruction) && instruction->opcode() != Opcode::kConstant) RunOne(instruction);
      }
    }
  }
  void RunOne(const Instruction* instruction) {
    Arrays in;
    const std::vector<Slice> slices = buffers_.OperandSlices(instruction);
    for (size_t i = 0; i < slices.size(); ++i) {
      in.push_back(Read(slices[i], instruction->operand(static_cast<int64_t>(i))->shape()));
      if (Share(*instruction, static_cast<int64_t>(i), 0) == Sharing::kNever) {
        EXPECT_FALSE(slices[i].Overlaps(buffers_.slice(instruction))) << instruction->ToString();
      }
    }
    const Slice scratch = buffers_.scratch(instruction);
    if (Scratch(*instruction) > 0) std::memset(At(scratch), 0x77, scratch.bytes);
    const Array out = Compute(*instruction, in);
    for (size_t i = 0; i < slices.size(); ++i) {
      EXPECT_FALSE(slices[i].Overlaps(scratch));
    }
    Write(buffers_.slice(instruction), out, instruction->shape());
  }

  const Module& module_;
  const BufferAssignment& buffers_;
  std::vector<std::string> bases_;
  size_t parameter_count_ = 0;
};

// Random programs: arrays of kLength, nested loops of a few trips, conditionals, donated parameters.
class RandomProgram {
 public:
  explicit RandomProgram(uint32_t seed) : random_(seed), module_(std::make_unique<Module>("random")) {}

  std::unique_ptr<Module> Make() {
    Computation* entry = module_->AddComputation("main");
    module_->set_entry(entry);
    std::vector<Instruction*> pool;
    const int parameters = 2 + Below(3);
    for (int i = 0; i < parameters; ++i) pool.push_back(entry->AddParameter(i, array_));
    Fill(*entry, pool, 3, 0);
    std::vector<Instruction*> results;
    const int count = 1 + Below(4);
    for (int i = 0; i < count; ++i) results.push_back(Pick(pool));
    entry->set_root(entry->AddTuple(results));
    for (int i = 0; i < parameters; ++i) {
      if (Below(3) == 0)
        module_->config().donors.push_back(i);
      else if (Below(2) == 0 && i < count)
        module_->config().aliases.emplace_back(i, i);
    }
    return std::move(module_);
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % n); }
  // Prefers what was made last.
  Instruction* Pick(const std::vector<Instruction*>& pool) {
    return Below(2) == 0 ? pool[Below(static_cast<int>(pool.size()))]
                         : pool[pool.size() - 1 - Below(std::min<int>(3, pool.size()))];
  }
  Instruction* Scalar(Computation& c, int32_t value) {
    return c.AddConstant(Literal::Scalar(ElementType::kS32, value));
  }
  Instruction* Constant(Computation& c) {
    Literal literal(array_);
    for (int i = 0; i < kLength; ++i) {
      const int32_t value = Below(9) - 4;
      std::memcpy(literal.mutable_data() + 4 * i, &value, 4);
    }
    return c.AddConstant(literal);
  }

  void Fill(Computation& c, std::vector<Instruction*>& pool, int depth, int minimum) {
    const int count = minimum + 1 + Below(8);
    for (int i = 0; i < count; ++i) {
      switch (Below(depth > 0 ? 9 : 6)) {
        case 0:
          pool.push_back(c.Add(Opcode::kAdd, array_, {Pick(pool), Pick(pool)}));
          break;
        case 1:
          pool.push_back(c.Add(Opcode::kSubtract, array_, {Pick(pool), Pick(pool)}));
          break;
        case 2:
          pool.push_back(c.Add(Opcode::kMultiply, array_, {Pick(pool), Pick(pool)}));
          break;
        case 3:
        case 4:
          pool.push_back(c.Add(Opcode::kDynamicUpdateSlice, array_, {Pick(pool), Pick(pool), Pick(pool)}));
          break;
        case 5:
          pool.push_back(Constant(c));
          break;
        case 6:
        case 7:
          AddLoop(c, pool, depth);
          break;
        case 8:
          AddConditional(c, pool, depth);
          break;
      }
    }
  }

  void AddLoop(Computation& c, std::vector<Instruction*>& pool, int depth) {
    const int width = 1 + Below(4);
    std::vector<Instruction*> init = {Scalar(c, 0)};
    for (int i = 0; i < width; ++i) init.push_back(Pick(pool));
    Instruction* tuple = c.AddTuple(init);
    Computation* condition = module_->AddComputation("cond");
    Instruction* state = condition->AddParameter(0, tuple->shape());
    condition->set_root(
        condition->Add(Opcode::kCompare, Shape::Scalar(ElementType::kPred),
                       {condition->AddGetTupleElement(state, 0), Scalar(*condition, Below(4))},
                       CompareAttributes{ComparisonDirection::kLt}));
    Computation* body = module_->AddComputation("body");
    state = body->AddParameter(0, tuple->shape());
    Instruction* counter = body->AddGetTupleElement(state, 0);
    std::vector<Instruction*> inner, next;
    for (int i = 0; i < width; ++i) inner.push_back(body->AddGetTupleElement(state, i + 1));
    const std::vector<Instruction*> carried = inner;
    Fill(*body, inner, depth - 1, 0);
    next.push_back(body->Add(Opcode::kAdd, counter->shape(), {counter, Scalar(*body, 1)}));
    // Sometimes handed through, sometimes another's state, sometimes new.
    for (int i = 0; i < width; ++i) {
      const int choice = Below(4);
      next.push_back(choice == 0 ? carried[i] : choice == 1 ? carried[Below(width)] : Pick(inner));
    }
    body->set_root(body->AddTuple(next));
    Instruction* loop = c.Add(Opcode::kWhile, tuple->shape(), {tuple}, {}, {condition, body});
    for (int i = 0; i < width; ++i) pool.push_back(c.AddGetTupleElement(loop, i + 1));
  }

  void AddConditional(Computation& c, std::vector<Instruction*>& pool, int depth) {
    const int width = 1 + Below(3);
    std::vector<Instruction*> operands = {c.Add(Opcode::kCompare, Shape::Scalar(ElementType::kPred),
                                                {Scalar(c, Below(2)), Scalar(c, 1)},
                                                CompareAttributes{ComparisonDirection::kLt})};
    std::vector<Computation*> branches;
    Shape result;
    for (int k = 0; k < 2; ++k) {
      const int inputs = 1 + Below(3);
      std::vector<Instruction*> in;
      for (int i = 0; i < inputs; ++i) in.push_back(Pick(pool));
      operands.push_back(c.AddTuple(in));
      Computation* branch = module_->AddComputation("branch");
      Instruction* state = branch->AddParameter(0, operands.back()->shape());
      std::vector<Instruction*> inner, out;
      for (int i = 0; i < inputs; ++i) inner.push_back(branch->AddGetTupleElement(state, i));
      Fill(*branch, inner, depth - 1, 0);
      for (int i = 0; i < width; ++i) out.push_back(Pick(inner));
      branch->set_root(branch->AddTuple(out));
      result = branch->root()->shape();
      branches.push_back(branch);
    }
    Instruction* conditional = c.Add(Opcode::kConditional, result, operands, {}, branches);
    for (int i = 0; i < width; ++i) pool.push_back(c.AddGetTupleElement(conditional, i));
  }

  std::mt19937 random_;
  std::unique_ptr<Module> module_;
  const Shape array_ = Shape::Array(ElementType::kS32, {kLength});
};

BufferAssignment Assign(const Module& module) {
  absl::StatusOr<BufferAssignment> buffers = BufferAssignment::Assign(module, {Share, Scratch});
  EXPECT_TRUE(buffers.ok()) << buffers.status();
  return *std::move(buffers);
}

TEST(AssignmentTest, RandomProgramsComputeWhatTheyMean) {
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(seed);
    std::unique_ptr<Module> module = RandomProgram(seed).Make();
    UnshareControl(*module);
    Arrays parameters;
    for (size_t i = 0; i < module->entry()->parameters().size(); ++i) {
      Array& array = parameters.emplace_back(kLength);
      for (int k = 0; k < kLength; ++k) array[k] = static_cast<int32_t>(seed * 31 + i * 7 + k * 3) % 11;
    }
    const BufferAssignment buffers = Assign(*module);
    Machine machine(*module, buffers, parameters);
    ASSERT_EQ(machine.Run(), Interpret(*module->entry(), parameters));
    for (size_t i = 0; i < parameters.size(); ++i) {
      const ModuleConfig& config = module->config();
      bool donated = std::count(config.donors.begin(), config.donors.end(), i) > 0;
      for (const auto& [result, parameter] : config.aliases) donated |= parameter == static_cast<int64_t>(i);
      if (!donated) {
        ASSERT_EQ(machine.Parameter(static_cast<int>(i), module->entry()->parameter(i)->shape()),
                  parameters[i]);
      }
    }
  }
}

std::unique_ptr<Module> Parse(absl::string_view text) {
  absl::StatusOr<std::unique_ptr<Module>> module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

const Instruction* Named(const Module& module, absl::string_view name) {
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->name() == name) return instruction;
    }
  }
  return nullptr;
}

constexpr absl::string_view kScan = R"(
HloModule scan
cond {
  s = (s32[], f32[8,3], f32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(8)
  ROOT lt = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[8,3], f32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  ys = f32[8,3] get-tuple-element(s), index=1
  x = f32[3] get-tuple-element(s), index=2
  y = f32[1,3] reshape(x)
  zero = s32[] constant(0)
  update = f32[8,3] dynamic-update-slice(ys, y, i, zero)
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT t = (s32[], f32[8,3], f32[3]) tuple(next, update, x)
}
ENTRY main {
  p = f32[3] parameter(0)
  q = f32[8,3] parameter(1)
  start = s32[] constant(0)
  filled = f32[8,3] add(q, q)
  init = (s32[], f32[8,3], f32[3]) tuple(start, filled, p)
  loop = (s32[], f32[8,3], f32[3]) while(init), condition=cond, body=body
  ROOT out = f32[8,3] get-tuple-element(loop), index=1
}
)";

TEST(AssignmentTest, ScanWritesItsRowsIntoTheResult) {
  std::unique_ptr<Module> module = Parse(kScan);
  const BufferAssignment buffers = Assign(*module);
  const Slice result{kFirstParameterBase + 2, 0, 8 * 3 * 4};
  EXPECT_EQ(buffers.slice(Named(*module, "filled")), result);
  EXPECT_EQ(buffers.slice(Named(*module, "update")), result);
  EXPECT_EQ(buffers.slice(Named(*module, "loop"), 1), result);
  EXPECT_TRUE(buffers.AtEnd().empty());
  EXPECT_TRUE(buffers.AtLoopBack(Named(*module, "loop")).empty());
  // Only the counter is copied in; the invariant x stays where the caller has it.
  EXPECT_EQ(buffers.AtLoopEntry(Named(*module, "loop")).size(), 1u);
  EXPECT_EQ(buffers.slice(Named(*module, "loop"), 2).base, kFirstParameterBase);
  EXPECT_LE(buffers.temp_bytes(), 128);
}

TEST(AssignmentTest, DonatedParameterBecomesTheResult) {
  std::unique_ptr<Module> module = Parse(R"(
HloModule step
ENTRY main {
  w = f32[7] parameter(0)
  g = f32[7] parameter(1)
  d = f32[7] add(w, g)
  e = f32[7] multiply(d, w)
  ROOT t = (f32[7]) tuple(e)
}
)");
  module->config().aliases = {{0, 0}};
  const BufferAssignment buffers = Assign(*module);
  EXPECT_EQ(buffers.result_donors(), std::vector<int>({0}));
  EXPECT_EQ(buffers.slice(Named(*module, "e")).base, kFirstParameterBase);
  EXPECT_TRUE(buffers.AtEnd().empty());
}

TEST(AssignmentTest, ParameterStillReadIsNotOverwritten) {
  std::unique_ptr<Module> module = Parse(R"(
HloModule keep
ENTRY main {
  w = f32[7] parameter(0)
  d = f32[7] subtract(w, w)
  ROOT t = (f32[7], f32[7]) tuple(d, w)
}
)");
  module->config().aliases = {{0, 0}};
  const BufferAssignment buffers = Assign(*module);
  EXPECT_EQ(buffers.result_donors(), std::vector<int>({-1, -1}));
  EXPECT_EQ(buffers.AtEnd().size(), 1u);
}

}  // namespace
// Reversed in place it would be overwritten while it is read: the result has its own memory, and the donor is
// only given up. A donor of another size than every result stays the caller's.
TEST(AssignmentTest, DonorThatNoResultCanTakeIsReleased) {
  std::unique_ptr<Module> module = Parse(R"(
HloModule flip
ENTRY main {
  w = f32[7] parameter(0)
  v = f32[5] parameter(1)
  r = f32[7] reverse(w), dimensions={0}
  ROOT t = (f32[7]) tuple(r)
}
)");
  module->config().donors = {0, 1};
  const BufferAssignment buffers = Assign(*module);
  EXPECT_EQ(buffers.result_donors(), std::vector<int>({-1}));
  EXPECT_EQ(buffers.released_parameters(), std::vector<int>({0}));
}

TEST(AssignmentTest, CollectivesReadPiecesOfParametersInPlace) {
  std::unique_ptr<Module> module = Parse(R"(
HloModule pieces, num_partitions=2
ENTRY main {
  p = f32[4,6] parameter(0)
  rows = f32[2,6] slice(p), slice={[1:3], [0:6]}
  row = f32[1,3] slice(p), slice={[2:3], [2:5]}
  vector = f32[3] reshape(row)
  columns = f32[4,2] slice(p), slice={[0:4], [1:3]}
  shared = f32[1,6] slice(p), slice={[3:4], [0:6]}
  a = f32[4,6] all-gather(rows), dimensions={0}, replica_groups={{0,1}}
  b = f32[6] all-gather(vector), dimensions={0}, replica_groups={{0,1}}
  c = f32[8,2] all-gather(columns), dimensions={0}, replica_groups={{0,1}}
  d = f32[2,6] all-gather(shared), dimensions={0}, replica_groups={{0,1}}
  e = f32[1,6] add(shared, shared)
  ROOT t = (f32[4,6], f32[6], f32[8,2], f32[2,6], f32[1,6]) tuple(a, b, c, d, e)
}
)");
  const BufferAssignment buffers = Assign(*module);
  const auto operand = [&](absl::string_view name) { return buffers.OperandSlices(Named(*module, name))[0]; };
  EXPECT_EQ(operand("a"), (Slice{kFirstParameterBase, 6 * 4, 12 * 4}));
  EXPECT_EQ(operand("b"), (Slice{kFirstParameterBase, (2 * 6 + 2) * 4, 3 * 4}));
  EXPECT_NE(operand("c").base, kFirstParameterBase);
  EXPECT_NE(operand("d").base, kFirstParameterBase);
}

}  // namespace shoal
