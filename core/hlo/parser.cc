#include "core/hlo/parser.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/hlo/attribute_text.h"
#include "core/hlo/literal_text.h"
#include "core/hlo/origin.h"
#include "core/hlo/sharding_text.h"
#include "core/hlo/text_cursor.h"
#include "core/hlo/verifier.h"

namespace shoal {
namespace {

// What XLA writes of an instruction or a module and Shoal has no use for.
constexpr absl::string_view kIgnored[] = {"backend_config",
                                          "frontend_attributes",
                                          "origin",
                                          "statistics",
                                          "metadata",
                                          "control-predecessors",
                                          "operand_layout_constraints",
                                          "is_scheduled",
                                          "entry_computation_layout",

                                          "execution_thread",
                                          "allow_spmd_sharding_propagation_to_parameters",
                                          "allow_spmd_sharding_propagation_to_output",
                                          "constrain_layout",
                                          "inferred_dimension",
                                          "is_host_transfer",
                                          "outfeed_shape",
                                          "result_accuracy",
                                          "algorithm",
                                          "schedule"};

// The attributes that name computations, in the order of Instruction::called().
constexpr absl::string_view kCalled[] = {"condition",
                                         "body",
                                         "select",
                                         "scatter",
                                         "true_computation",
                                         "false_computation",
                                         "to_apply",
                                         "calls",
                                         "branch_computations",
                                         "called_computations"};

class ModuleParser {
 public:
  explicit ModuleParser(absl::string_view text) : cursor_(text) {}

  absl::StatusOr<std::unique_ptr<Module>> Parse() {
    if (!cursor_.Eat("HloModule")) return cursor_.Bad("expected \"HloModule\"");
    SHOAL_ASSIGN_OR_RETURN(std::string name, cursor_.Name());
    module_ = std::make_unique<Module>(name);
    std::vector<AttributeText> header;
    SHOAL_RETURN_IF_ERROR(ReadItems(header));
    for (absl::string_view table : {"FileNames", "FunctionNames", "FileLocations", "StackFrames"})
      SHOAL_RETURN_IF_ERROR(SkipSourceTable(table));
    // All computations by name first, so that they may come in any order.
    while (!cursor_.AtEnd()) SHOAL_RETURN_IF_ERROR(FindComputation());
    for (auto& [computation, body] : bodies_) SHOAL_RETURN_IF_ERROR(ReadBody(*computation, body));
    SHOAL_RETURN_IF_ERROR(ReadConfig(header));
    SHOAL_RETURN_IF_ERROR(Checked(VerifyStructure(*module_)));
    return std::move(module_);
  }

 private:
  static absl::Status Checked(const absl::Status& status) {
    return status.ok() ? status : absl::InvalidArgumentError(status.message());
  }

  // What XLA tells of source lines: the table's name, then rows of a number and a string or braces.
  absl::Status SkipSourceTable(absl::string_view name) {
    TextCursor ahead = cursor_;
    if (ahead.Word() != name || !absl::ascii_isdigit(ahead.Peek())) return absl::OkStatus();
    cursor_ = ahead;
    while (absl::ascii_isdigit(cursor_.Peek())) {
      SHOAL_RETURN_IF_ERROR(cursor_.Int().status());
      SHOAL_RETURN_IF_ERROR(cursor_.Balanced().status());
    }
    return absl::OkStatus();
  }

  // ", name=value" as often as it comes.
  absl::Status ReadItems(std::vector<AttributeText>& items) {
    while (cursor_.Eat(',')) {
      const size_t place = cursor_.position();
      const absl::string_view name = cursor_.Word();
      if (name.empty()) return cursor_.Bad("expected an attribute");
      SHOAL_RETURN_IF_ERROR(cursor_.Expect('='));
      SHOAL_ASSIGN_OR_RETURN(TextCursor value, cursor_.Balanced());
      for (const AttributeText& item : items) {
        if (item.name == name)
          return cursor_.BadAt(place, absl::StrCat("attribute \"", name, "\" comes twice"));
      }
      items.push_back({name, value});
    }
    return absl::OkStatus();
  }

  // Takes the item of that name out; false if there is none.
  static bool TakeItem(std::vector<AttributeText>& items, absl::string_view name, TextCursor& value) {
    auto it = std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.name == name; });
    if (it == items.end()) return false;
    value = it->value;
    items.erase(it);
    return true;
  }

  static absl::Status CheckAllKnown(const std::vector<AttributeText>& items) {
    for (const AttributeText& item : items) {
      if (std::find(std::begin(kIgnored), std::end(kIgnored), item.name) == std::end(kIgnored))
        return item.value.Bad(absl::StrCat("unknown attribute \"", item.name, "\""));
    }
    return absl::OkStatus();
  }

  // "ENTRY %main (a: f32[4]) -> f32[4] { body }": notes where the body is.
  absl::Status FindComputation() {
    const bool is_entry = cursor_.Eat("ENTRY");
    const size_t place = cursor_.position();
    SHOAL_ASSIGN_OR_RETURN(std::string name, cursor_.Name());
    if (cursor_.Peek() == '(') {
      SHOAL_RETURN_IF_ERROR(cursor_.Balanced().status());
      if (!cursor_.Eat("->")) return cursor_.Bad("expected \"->\"");
      SHOAL_RETURN_IF_ERROR(cursor_.ShapeText().status());
    }
    if (cursor_.Peek() != '{') return cursor_.Bad("expected '{'");
    SHOAL_ASSIGN_OR_RETURN(TextCursor body, cursor_.Balanced());
    // XLA: ", execution_thread=..." may follow.
    std::vector<AttributeText> ignored;
    SHOAL_RETURN_IF_ERROR(ReadItems(ignored));
    if (computations_.contains(name))
      return cursor_.BadAt(place, absl::StrCat("computation \"", name, "\" comes twice"));
    Computation* computation = module_->AddComputation(name);
    computations_[name] = computation;
    bodies_.emplace_back(computation, body);
    if (!is_entry) return absl::OkStatus();
    if (module_->entry() != nullptr) return cursor_.BadAt(place, "there is an ENTRY already");
    module_->set_entry(computation);
    return absl::OkStatus();
  }

  absl::Status ReadBody(Computation& computation, const TextCursor& body) {
    cursor_ = body;
    names_.clear();
    SHOAL_RETURN_IF_ERROR(cursor_.Expect('{'));
    Instruction* last = nullptr;
    while (!cursor_.Eat('}')) {
      TextCursor ahead = cursor_;
      const bool is_root = ahead.Word() == "ROOT" && ahead.Peek() != '=';
      if (is_root) cursor_ = ahead;
      cursor_.SkipSpace();
      const TextCursor place = cursor_;
      SHOAL_ASSIGN_OR_RETURN(last, ReadInstruction(computation));
      if (!row_major_ && last->opcode() == Opcode::kBitcast)
        return place.Bad("only the row-major layout is known here");
      if (!is_root) continue;
      if (computation.root() != nullptr) return cursor_.Bad("there is a ROOT already");
      computation.set_root(last);
    }
    if (computation.root() == nullptr) computation.set_root(last);
    return absl::OkStatus();
  }

  // A shape; layouts say nothing to Shoal but of a bitcast, for which `row_major_` is kept.
  absl::StatusOr<Shape> ReadShape() {
    cursor_.SkipSpace();
    const size_t place = cursor_.position();
    SHOAL_ASSIGN_OR_RETURN(absl::string_view text, cursor_.ShapeText());
    std::string dense;
    bool has_layout = false;
    for (TextCursor rest(text); !rest.AtEnd();) {
      const size_t size = rest.rest().find_first_of("{/ ");
      absl::StrAppend(&dense, rest.rest().substr(0, size));
      if (size == absl::string_view::npos) break;
      rest.set_position(rest.position() + size);
      if (rest.Peek() == '/') return cursor_.BadAt(place, "bad shape");  // no comment, or it would be skipped
      if (rest.PeekHere() != '{') continue;
      has_layout = true;
      if (!rest.Balanced().ok()) return cursor_.BadAt(place, "bad layout");
    }
    absl::StatusOr<Shape> shape = Shape::Parse(dense);
    if (!shape.ok()) return cursor_.BadAt(place, shape.status().message());
    row_major_ = !has_layout || Shape::Parse(text).ok();
    return shape;
  }

  absl::StatusOr<Instruction*> ReadInstruction(Computation& computation) {
    cursor_.SkipSpace();
    const TextCursor place = cursor_;
    SHOAL_ASSIGN_OR_RETURN(std::string name, cursor_.Name());
    SHOAL_RETURN_IF_ERROR(cursor_.Expect('='));
    SHOAL_ASSIGN_OR_RETURN(Shape shape, ReadShape());
    cursor_.SkipSpace();
    const size_t opcode_place = cursor_.position();
    const absl::StatusOr<Opcode> opcode = ParseOpcode(cursor_.Word());
    if (!opcode.ok())
      return absl::Status(opcode.status().code(),
                          cursor_.BadAt(opcode_place, opcode.status().message()).message());
    SHOAL_RETURN_IF_ERROR(cursor_.Expect('('));
    const bool row_major = row_major_;
    Attributes payload;
    std::vector<Instruction*> operands;
    if (*opcode == Opcode::kParameter) {
      SHOAL_ASSIGN_OR_RETURN(payload, ReadParameterNumber());
    } else if (*opcode == Opcode::kConstant) {
      SHOAL_ASSIGN_OR_RETURN(Literal value, LiteralFromText(shape, cursor_));
      payload = ConstantAttributes{std::move(value)};
    } else {
      SHOAL_RETURN_IF_ERROR(ReadOperands(operands));
    }
    SHOAL_RETURN_IF_ERROR(cursor_.Expect(')'));
    std::vector<AttributeText> items;
    SHOAL_RETURN_IF_ERROR(ReadItems(items));
    SHOAL_ASSIGN_OR_RETURN(Attributes attributes, AttributesFromText(*opcode, items, shardings_, place));
    if (payload.index() != 0) attributes = std::move(payload);
    SHOAL_ASSIGN_OR_RETURN(std::vector<Computation*> called, ReadCalled(items));
    if (names_.contains(name)) return place.Bad(absl::StrCat("\"", name, "\" comes twice"));
    Instruction* instruction =
        *opcode == Opcode::kParameter
            ? computation.AddParameter(std::get<ParameterAttributes>(attributes).number, std::move(shape),
                                       name)
            : computation.Add(*opcode, std::move(shape), operands, std::move(attributes), called, name);
    names_[name] = instruction;
    SHOAL_RETURN_IF_ERROR(ReadAnnotations(*instruction, items));
    row_major_ = row_major;  // of the result, not of an operand
    return instruction;
  }

  absl::StatusOr<Attributes> ReadParameterNumber() {
    const size_t place = cursor_.position();
    SHOAL_ASSIGN_OR_RETURN(int64_t number, cursor_.Int());
    // A parameter takes more than one character of text.
    if (number < 0 || number > static_cast<int64_t>(place))
      return cursor_.BadAt(place, "bad parameter number");
    return ParameterAttributes{number};
  }

  absl::Status ReadOperands(std::vector<Instruction*>& operands) {
    if (cursor_.Peek() == ')') return absl::OkStatus();
    do {
      absl::StatusOr<Shape> shape = absl::NotFoundError("");
      if (cursor_.Peek() != '%' && cursor_.Peek() != '"') {
        TextCursor ahead = cursor_;
        ahead.Word();
        if (cursor_.Peek() == '(' || ahead.PeekHere() == '[') {
          shape = ReadShape();
          if (!shape.ok()) return shape.status();
        }
      }
      cursor_.SkipSpace();
      const size_t place = cursor_.position();
      SHOAL_ASSIGN_OR_RETURN(std::string name, cursor_.Name());
      auto it = names_.find(name);
      if (it == names_.end())
        return cursor_.BadAt(place, absl::StrCat("no instruction \"", name, "\" before this one"));
      if (shape.ok() && *shape != it->second->shape())
        return cursor_.BadAt(place, absl::StrCat("the operand is ", it->second->shape().ToString()));
      operands.push_back(it->second);
    } while (cursor_.Eat(','));
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Computation*>> ReadCalled(std::vector<AttributeText>& items) {
    std::vector<Computation*> called;
    for (absl::string_view attribute : kCalled) {
      TextCursor value("");
      if (!TakeItem(items, attribute, value)) continue;
      const bool is_list = value.Eat('{');
      if (is_list && value.Eat('}')) continue;
      do {
        value.SkipSpace();
        const size_t place = value.position();
        SHOAL_ASSIGN_OR_RETURN(std::string name, value.Name());
        auto it = computations_.find(name);
        if (it == computations_.end())
          return value.BadAt(place, absl::StrCat("no computation \"", name, "\""));
        called.push_back(it->second);
      } while (is_list && value.Eat(','));
      if (is_list) SHOAL_RETURN_IF_ERROR(value.Expect('}'));
    }
    return called;
  }

  absl::Status ReadAnnotations(Instruction& instruction, std::vector<AttributeText>& items) {
    TextCursor value("");
    if (TakeItem(items, "sharding", value)) {
      SHOAL_ASSIGN_OR_RETURN(std::vector<Sharding> shardings, shardings_.ReadList(value));
      instruction.set_shardings(std::move(shardings));
    }
    if (TakeItem(items, "metadata", value)) {
      SHOAL_RETURN_IF_ERROR(ReadMetadata(value, instruction));
    }
    return CheckAllKnown(items);
  }

  static absl::Status ReadMetadata(TextCursor& value, Instruction& instruction) {
    std::string name, file;
    int64_t line = 0;
    SHOAL_RETURN_IF_ERROR(value.Expect('{'));
    while (!value.Eat('}')) {
      const absl::string_view field = value.Word();
      SHOAL_RETURN_IF_ERROR(value.Expect('='));
      if (field == "op_name") {
        SHOAL_ASSIGN_OR_RETURN(name, value.Quoted());
      } else if (field == "source_file") {
        SHOAL_ASSIGN_OR_RETURN(file, value.Quoted());
      } else if (field == "source_line") {
        SHOAL_ASSIGN_OR_RETURN(line, value.Int());
      } else {
        SHOAL_RETURN_IF_ERROR(value.Balanced().status());
      }
    }
    instruction.set_op_name(OriginText({name, file, line}));
    return absl::OkStatus();
  }

  // "{ {0}: (1, {}, may-alias) }"
  absl::Status ReadAliases(TextCursor& value) {
    SHOAL_RETURN_IF_ERROR(value.Expect('{'));
    while (!value.Eat('}')) {
      if (!module_->config().aliases.empty()) SHOAL_RETURN_IF_ERROR(value.Expect(','));
      int64_t leaf = 0;
      SHOAL_RETURN_IF_ERROR(value.Expect('{'));
      if (!value.Eat('}')) {
        SHOAL_ASSIGN_OR_RETURN(leaf, value.Int());
        SHOAL_RETURN_IF_ERROR(value.Expect('}'));
      }
      SHOAL_RETURN_IF_ERROR(value.Expect(':'));
      SHOAL_ASSIGN_OR_RETURN(int64_t parameter, ReadParameterIndex(value));
      module_->config().aliases.emplace_back(leaf, parameter);
    }
    return absl::OkStatus();
  }

  // "(1, {}, may-alias)"
  static absl::StatusOr<int64_t> ReadParameterIndex(TextCursor& value) {
    SHOAL_RETURN_IF_ERROR(value.Expect('('));
    SHOAL_ASSIGN_OR_RETURN(int64_t parameter, value.Int());
    while (value.Eat(',')) SHOAL_RETURN_IF_ERROR(value.Balanced().status());
    SHOAL_RETURN_IF_ERROR(value.Expect(')'));
    return parameter;
  }

  static absl::Status ReadStrings(TextCursor& value, std::vector<std::string>& strings) {
    SHOAL_RETURN_IF_ERROR(value.Expect('{'));
    while (!value.Eat('}')) {
      if (!strings.empty()) SHOAL_RETURN_IF_ERROR(value.Expect(','));
      SHOAL_ASSIGN_OR_RETURN(std::string one, value.Quoted());
      strings.push_back(std::move(one));
    }
    return absl::OkStatus();
  }

  absl::Status ReadConfig(std::vector<AttributeText>& header) {
    ModuleConfig& config = module_->config();
    TextCursor value("");
    for (auto [name, count] : {std::pair("replica_count", &config.num_replicas),
                               std::pair("num_partitions", &config.num_partitions)}) {
      if (!TakeItem(header, name, value)) continue;
      SHOAL_ASSIGN_OR_RETURN(*count, value.Int());
      if (*count < 1 || *count > int64_t{1} << 31) return value.Bad("bad count");
    }
    if (TakeItem(header, "input_output_alias", value)) SHOAL_RETURN_IF_ERROR(ReadAliases(value));
    if (TakeItem(header, "buffer_donor", value)) {
      SHOAL_RETURN_IF_ERROR(value.Expect('{'));
      while (!value.Eat('}')) {
        if (!config.donors.empty()) SHOAL_RETURN_IF_ERROR(value.Expect(','));
        SHOAL_ASSIGN_OR_RETURN(int64_t parameter, ReadParameterIndex(value));
        config.donors.push_back(parameter);
      }
    }
    if (TakeItem(header, "parameter_memory_kinds", value))
      SHOAL_RETURN_IF_ERROR(ReadStrings(value, config.parameter_memory_kinds));
    if (TakeItem(header, "result_memory_kinds", value))
      SHOAL_RETURN_IF_ERROR(ReadStrings(value, config.result_memory_kinds));
    if (TakeItem(header, "result_shardings", value)) {
      SHOAL_ASSIGN_OR_RETURN(config.result_shardings, shardings_.ReadList(value));
    }
    return CheckAllKnown(header);
  }

  TextCursor cursor_;
  bool row_major_ = true;  // the last shape's layouts
  std::unique_ptr<Module> module_;
  ShardingReader shardings_;
  absl::flat_hash_map<std::string, Computation*> computations_;
  std::vector<std::pair<Computation*, TextCursor>> bodies_;
  absl::flat_hash_map<std::string, Instruction*> names_;  // of the computation being read
};

}  // namespace

absl::StatusOr<std::unique_ptr<Module>> ParseHloText(absl::string_view text) {
  return ModuleParser(text).Parse();
}

}  // namespace shoal
