#include "core/hlo/printer.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/fingerprint.h"
#include "core/hlo/attribute_text.h"
#include "core/hlo/literal_text.h"
#include "core/hlo/origin.h"
#include "core/hlo/sharding_text.h"
#include "core/hlo/text_cursor.h"

namespace shoal {
namespace {

std::string NameText(absl::string_view name) {
  return IsPlainName(name) ? absl::StrCat("%", name) : absl::StrCat("%", QuotedText(name));
}

std::string BracedStrings(const std::vector<std::string>& words) {
  return absl::StrCat(
      "{", absl::StrJoin(words, ", ", [](std::string* o, const std::string& w) { o->append(QuotedText(w)); }),
      "}");
}

// Under which attribute names an instruction names what it calls.
struct CalledNames {
  absl::string_view first, second;
  bool is_list = false;
};

CalledNames NamesFor(Opcode opcode) {
  switch (opcode) {
    case Opcode::kWhile:
      return {"condition", "body"};
    case Opcode::kSelectAndScatter:
      return {"select", "scatter"};
    case Opcode::kFusion:
      return {"calls"};
    case Opcode::kConditional:
      return {"branch_computations", "", true};
    case Opcode::kCustomCall:
      return {"called_computations", "", true};
    default:
      return {"to_apply"};
  }
}

void AppendOrigin(absl::string_view text, std::string& out) {
  const Origin origin = ParseOrigin(text);
  absl::StrAppend(&out, ", metadata={op_name=", QuotedText(origin.name));
  if (!origin.file.empty())
    absl::StrAppend(&out, " source_file=", QuotedText(origin.file), " source_line=", origin.line);
  absl::StrAppend(&out, "}");
}

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}

  void Append(const Instruction& instruction, std::string& out) const {
    absl::StrAppend(&out, NameText(instruction.name()), " = ", instruction.shape().ToString(options_.layouts),
                    " ", OpcodeName(instruction.opcode()), "(");
    AppendOperands(instruction, out);
    absl::StrAppend(&out, ")", AttributesToText(instruction.opcode(), instruction.attributes()));
    AppendCalled(instruction, out);
    if (options_.shardings && !instruction.shardings().empty())
      absl::StrAppend(&out, ", sharding=", ShardingListText(instruction.shardings()));
    if (options_.metadata && !instruction.op_name().empty()) AppendOrigin(instruction.op_name(), out);
  }

  void Append(const Computation& computation, std::string& out) const {
    if (computation.parent() != nullptr && computation.parent()->entry() == &computation) out += "ENTRY ";
    absl::StrAppend(&out, NameText(computation.name()), " (",
                    absl::StrJoin(computation.parameters(), ", ",
                                  [&](std::string* o, const Instruction* parameter) {
                                    if (parameter == nullptr) return;
                                    absl::StrAppend(o,
                                                    absl::string_view(NameText(parameter->name())).substr(1),
                                                    ": ", parameter->shape().ToString(options_.layouts));
                                  }),
                    ") -> ");
    if (computation.root() != nullptr) out += computation.root()->shape().ToString(options_.layouts);
    out += " {\n";
    for (const Instruction* instruction : computation.instructions()) {
      out += instruction == computation.root() ? "  ROOT " : "  ";
      Append(*instruction, out);
      out += '\n';
    }
    out += "}\n";
  }

  void AppendHeader(const Module& module, std::string& out) const {
    const ModuleConfig& config = module.config();
    absl::StrAppend(&out, "HloModule ",
                    IsPlainName(module.name()) ? module.name() : QuotedText(module.name()));
    if (!config.aliases.empty()) {
      const bool tuple = module.entry() != nullptr && module.entry()->root()->shape().IsTuple();
      absl::StrAppend(&out, ", input_output_alias={",
                      absl::StrJoin(config.aliases, ", ",
                                    [&](std::string* o, const auto& alias) {
                                      absl::StrAppend(o, "{", tuple ? absl::StrCat(alias.first) : "", "}: (",
                                                      alias.second, ", {}, may-alias)");
                                    }),
                      "}");
    }
    if (!config.donors.empty()) {
      absl::StrAppend(&out, ", buffer_donor={",
                      absl::StrJoin(config.donors, ", ",
                                    [](std::string* o, int64_t d) { absl::StrAppend(o, "(", d, ", {})"); }),
                      "}");
    }
    if (module.entry() != nullptr) AppendEntryLayout(*module.entry(), out);
    if (config.num_replicas != 1) absl::StrAppend(&out, ", replica_count=", config.num_replicas);
    if (config.num_partitions != 1) absl::StrAppend(&out, ", num_partitions=", config.num_partitions);
    if (!config.parameter_memory_kinds.empty())
      absl::StrAppend(&out, ", parameter_memory_kinds=", BracedStrings(config.parameter_memory_kinds));
    if (!config.result_memory_kinds.empty())
      absl::StrAppend(&out, ", result_memory_kinds=", BracedStrings(config.result_memory_kinds));
    if (options_.shardings && !config.result_shardings.empty())
      absl::StrAppend(&out, ", result_shardings=", ShardingListText(config.result_shardings));
    out += '\n';
  }

 private:
  void AppendEntryLayout(const Computation& entry, std::string& out) const {
    absl::StrAppend(&out, ", entry_computation_layout={(",
                    absl::StrJoin(entry.parameters(), ", ",
                                  [&](std::string* o, const Instruction* parameter) {
                                    if (parameter != nullptr)
                                      o->append(parameter->shape().ToString(options_.layouts));
                                  }),
                    ")->", entry.root() != nullptr ? entry.root()->shape().ToString(options_.layouts) : "()",
                    "}");
  }

  std::string ConstantText(const Literal& literal) const {
    if (!options_.digest_constants || literal.shape().ElementCount() <= options_.max_constant_elements)
      return LiteralToText(literal, options_.max_constant_elements);
    return absl::StrCat(absl::Hex(FingerprintOfData({literal.data(), literal.size_bytes()})));
  }

  void AppendOperands(const Instruction& instruction, std::string& out) const {
    if (instruction.opcode() == Opcode::kParameter) {
      absl::StrAppend(&out, instruction.parameter_number());
      return;
    }
    if (instruction.opcode() == Opcode::kConstant) {
      out += ConstantText(instruction.literal());
      return;
    }
    absl::StrAppend(
        &out, absl::StrJoin(instruction.operands(), ", ", [&](std::string* o, const Instruction* operand) {
          if (options_.operand_shapes) absl::StrAppend(o, operand->shape().ToString(options_.layouts), " ");
          o->append(NameText(operand->name()));
        }));
  }

  static void AppendCalled(const Instruction& instruction, std::string& out) {
    const auto called = instruction.called();
    if (called.empty()) return;
    const auto append = [&](absl::string_view name, int64_t i) {
      absl::StrAppend(&out, ", ", name, "=", NameText(called[i]->name()));
    };
    const bool branch_on_pred = instruction.opcode() == Opcode::kConditional && called.size() == 2 &&
                                instruction.operand_count() > 0 &&
                                instruction.operand(0)->shape().element_type() == ElementType::kPred;
    const CalledNames names = branch_on_pred ? CalledNames{"true_computation", "false_computation"}
                                             : NamesFor(instruction.opcode());
    if (names.second.empty() && called.size() == 1 && !names.is_list) {
      append(names.first, 0);
    } else if (!names.second.empty() && called.size() == 2) {
      append(names.first, 0);
      append(names.second, 1);
    } else {
      absl::StrAppend(
          &out, ", ", names.first, "={",
          absl::StrJoin(called, ", ",
                        [](std::string* o, const Computation* c) { o->append(NameText(c->name())); }),
          "}");
    }
  }

  const PrintOptions& options_;
};

}  // namespace

std::string ToText(const Module& module, const PrintOptions& options) {
  std::string out;
  const Printer printer(options);
  printer.AppendHeader(module, out);
  for (const Computation* computation : module.computations()) {
    out += '\n';
    printer.Append(*computation, out);
  }
  return out;
}

std::string ToText(const Computation& computation, const PrintOptions& options) {
  std::string out;
  Printer(options).Append(computation, out);
  return out;
}

std::string ToText(const Instruction& instruction, const PrintOptions& options) {
  std::string out;
  Printer(options).Append(instruction, out);
  return out;
}

}  // namespace shoal
