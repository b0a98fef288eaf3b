#include "core/stablehlo/entry_layouts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status.h"
#include "core/stablehlo/importer.h"

namespace shoal {
namespace {

// `minor_to_major` as EntryLayout has it; `text` is how the program writes it.
absl::StatusOr<IntVector> Checked(IntVector minor_to_major, absl::string_view text) {
  IntVector sorted = minor_to_major;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int64_t>(i)) {
      return absl::InvalidArgumentError(absl::StrCat("the layout \"", text, "\" is no permutation"));
    }
  }
  const bool is_row_major = std::is_sorted(minor_to_major.rbegin(), minor_to_major.rend());
  return is_row_major ? IntVector() : minor_to_major;
}

// "auto", "default" or "{0,1}".
absl::StatusOr<EntryLayout> Parse(absl::string_view text) {
  EntryLayout layout;
  layout.automatic = text == "auto";
  if (layout.automatic || text == "default") return layout;
  absl::string_view list = text;
  if (!absl::ConsumePrefix(&list, "{") || !absl::ConsumeSuffix(&list, "}")) {
    return absl::InvalidArgumentError(absl::StrCat("the layout \"", text, "\" is not like {1,0}"));
  }
  if (list.find(':') != absl::string_view::npos) {
    return absl::UnimplementedError(absl::StrCat("the layout \"", text, "\": arrays here have no tiles"));
  }
  IntVector minor_to_major;
  for (absl::string_view word : absl::StrSplit(list, ',', absl::SkipEmpty())) {
    if (!absl::SimpleAtoi(word, &minor_to_major.emplace_back())) {
      return absl::InvalidArgumentError(absl::StrCat("the layout \"", text, "\" is not like {1,0}"));
    }
  }
  SHOAL_ASSIGN_OR_RETURN(layout.minor_to_major, Checked(std::move(minor_to_major), text));
  return layout;
}

// A choice that the program has made inside: its result comes from a call of @LayoutConstraint.
absl::Status HeedConstraint(const MlirValue& result, EntryLayout& layout) {
  const MlirOperation* owner = result.owner;
  if (!layout.automatic || owner == nullptr || owner->name != "stablehlo.custom_call")
    return absl::OkStatus();
  const MlirAttribute* target = owner->Find("call_target_name");
  const MlirAttribute* wanted = owner->Find("result_layouts");
  if (target == nullptr || target->text != "LayoutConstraint") return absl::OkStatus();
  layout = EntryLayout();
  if (wanted == nullptr || wanted->elements.size() != 1) return absl::OkStatus();
  SHOAL_ASSIGN_OR_RETURN(IntVector minor_to_major, IntsOf(*wanted->elements[0]));
  const std::string text = absl::StrCat("{", absl::StrJoin(minor_to_major, ","), "}");
  SHOAL_ASSIGN_OR_RETURN(layout.minor_to_major, Checked(std::move(minor_to_major), text));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<EntryLayout>> Read(const MlirOperation& main, absl::string_view list) {
  std::vector<EntryLayout> layouts;
  const MlirAttribute* arrays = main.Find(list);
  if (arrays == nullptr) return layouts;
  bool any = false;
  for (const MlirAttribute* attributes : arrays->elements) {
    EntryLayout& layout = layouts.emplace_back();
    const MlirAttribute* mode = attributes->Find("mhlo.layout_mode");
    if (mode == nullptr) continue;
    SHOAL_ASSIGN_OR_RETURN(layout, Parse(mode->text));
    any |= layout.automatic || !layout.minor_to_major.empty();
  }
  if (!any) layouts.clear();
  return layouts;
}

}  // namespace

absl::StatusOr<EntryLayouts> EntryLayoutsOf(const MlirModule& program) {
  EntryLayouts layouts;
  for (const MlirOperation* op : program.top->regions[0]->blocks[0]->operations) {
    const MlirAttribute* name = op->Find("sym_name");
    if (op->name != "func.func" || name == nullptr || name->text != "main") continue;
    SHOAL_ASSIGN_OR_RETURN(layouts.parameters, Read(*op, "arg_attrs"));
    SHOAL_ASSIGN_OR_RETURN(layouts.results, Read(*op, "res_attrs"));
    const std::vector<MlirOperation*>& body = op->regions[0]->blocks[0]->operations;
    for (size_t i = 0; i < layouts.results.size() && i < body.back()->operands.size(); ++i) {
      SHOAL_RETURN_IF_ERROR(HeedConstraint(*body.back()->operands[i], layouts.results[i]));
    }
  }
  return layouts;
}

}  // namespace shoal
