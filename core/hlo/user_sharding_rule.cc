#include "core/hlo/user_sharding_rule.h"

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/hlo/field_text.h"

namespace shoal {
namespace {

constexpr absl::string_view kMark = "\n#sdy.sharding_rule ";

std::string Text(const std::vector<Groups>& arrays) {
  std::string text = absl::StrCat(arrays.size());
  for (const Groups& array : arrays) absl::StrAppend(&text, " ", field_text::Text(array));
  return text;
}

absl::Status Read(TextCursor& c, std::vector<Groups>& arrays) {
  SHOAL_ASSIGN_OR_RETURN(int64_t count, c.Int());
  for (int64_t i = 0; i < count; ++i) SHOAL_RETURN_IF_ERROR(field_text::Read(c, arrays.emplace_back()));
  return absl::OkStatus();
}

absl::Status Read(TextCursor& c, UserShardingRule& rule) {
  SHOAL_RETURN_IF_ERROR(field_text::Read(c, rule.factor_sizes));
  SHOAL_RETURN_IF_ERROR(Read(c, rule.operands));
  SHOAL_RETURN_IF_ERROR(Read(c, rule.results));
  for (IntVector* kind : {&rule.reduction, &rule.need_replication, &rule.permutation, &rule.blocked}) {
    SHOAL_RETURN_IF_ERROR(field_text::Read(c, *kind));
  }
  return absl::OkStatus();
}

bool NamesOnlyFactors(const UserShardingRule& rule) {
  const auto count = static_cast<int64_t>(rule.factor_sizes.size());
  const auto all_known = [&](const IntVector& factors) {
    for (int64_t factor : factors) {
      if (factor < 0 || factor >= count) return false;
    }
    return true;
  };
  for (const std::vector<Groups>* arrays : {&rule.operands, &rule.results}) {
    for (const Groups& array : *arrays) {
      for (const IntVector& dim : array) {
        if (!all_known(dim)) return false;
      }
    }
  }
  return all_known(rule.reduction) && all_known(rule.need_replication) && all_known(rule.permutation) &&
         all_known(rule.blocked);
}

}  // namespace

void AttachRule(const UserShardingRule& rule, CustomCallAttributes& call) {
  absl::StrAppend(&call.backend_config, kMark, field_text::Text(rule.factor_sizes), " ", Text(rule.operands),
                  " ", Text(rule.results));
  for (const IntVector* kind : {&rule.reduction, &rule.need_replication, &rule.permutation, &rule.blocked}) {
    absl::StrAppend(&call.backend_config, " ", field_text::Text(*kind));
  }
}

std::optional<UserShardingRule> RuleOf(const CustomCallAttributes& call) {
  const absl::string_view config = call.backend_config;
  const size_t mark = config.rfind(kMark);
  if (mark == absl::string_view::npos) return std::nullopt;
  TextCursor cursor(config.substr(mark + kMark.size()));
  UserShardingRule rule;
  if (!Read(cursor, rule).ok() || !NamesOnlyFactors(rule)) return std::nullopt;
  return rule;
}

absl::string_view ConfigWithoutRule(const CustomCallAttributes& call) {
  const absl::string_view config = call.backend_config;
  return config.substr(0, config.rfind(kMark));
}

}  // namespace shoal
