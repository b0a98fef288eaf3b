#include "core/stablehlo/entry_layouts.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status.h"
#include "core/stablehlo/importer.h"

namespace shoal {
namespace {

bool IsRowMajor(const IntVector& minor_to_major) {
  return std::is_sorted(minor_to_major.rbegin(), minor_to_major.rend());
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
  for (absl::string_view word : absl::StrSplit(list, ',', absl::SkipEmpty())) {
    if (!absl::SimpleAtoi(word, &layout.minor_to_major.emplace_back())) {
      return absl::InvalidArgumentError(absl::StrCat("the layout \"", text, "\" is not like {1,0}"));
    }
  }
  IntVector sorted = layout.minor_to_major;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int64_t>(i)) {
      return absl::InvalidArgumentError(absl::StrCat("the layout \"", text, "\" is no permutation"));
    }
  }
  if (std::is_sorted(layout.minor_to_major.rbegin(), layout.minor_to_major.rend()))
    layout.minor_to_major = {};
  return layout;
}

// A choice that the program has made inside: its result comes from a call of @LayoutConstraint.
void HeedConstraint(const MlirValue& result, EntryLayout& layout) {
  const MlirOperation* owner = result.owner;
  if (!layout.automatic || owner == nullptr || owner->name != "stablehlo.custom_call") return;
  const MlirAttribute* target = owner->Find("call_target_name");
  const MlirAttribute* wanted = owner->Find("result_layouts");
  if (target == nullptr || target->text != "LayoutConstraint") return;
  layout = EntryLayout();
  if (wanted == nullptr || wanted->elements.size() != 1) return;
  const absl::StatusOr<IntVector> minor_to_major = IntsOf(*wanted->elements[0]);
  if (minor_to_major.ok() && !IsRowMajor(*minor_to_major)) layout.minor_to_major = *minor_to_major;
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
      HeedConstraint(*body.back()->operands[i], layouts.results[i]);
    }
  }
  return layouts;
}

}  // namespace shoal
