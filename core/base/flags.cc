#include "core/base/flags.h"

#include <unistd.h>

#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/flag_list.h"
#include "core/base/status.h"

namespace shoal {
namespace {

enum class FlagType { kBool, kInt, kString };

struct FlagInfo {
  absl::string_view name;  // SHOAL_NUM_DEVICES
  FlagType type;
  absl::string_view default_text;
};

constexpr FlagInfo kFlags[] = {
#define SHOAL_FLAG_ROW(name, type, default_text, help) {#name, FlagType::type, default_text},
    SHOAL_FLAG_LIST(SHOAL_FLAG_ROW)
#undef SHOAL_FLAG_ROW
};

absl::StatusOr<std::string> TextOf(absl::string_view name, FlagType type) {
  for (const FlagInfo& flag : kFlags) {
    if (flag.name != name || flag.type != type) continue;
    const char* value = std::getenv(std::string(name).c_str());
    return std::string(value == nullptr || *value == '\0' ? flag.default_text : absl::string_view(value));
  }
  return absl::InternalError(absl::StrCat("no flag ", name, " of that type; please report"));
}

absl::Status BadValue(absl::string_view name, absl::string_view value, absl::string_view form) {
  return absl::InvalidArgumentError(absl::StrCat(name, "=\"", value, "\" is not ", form));
}

}  // namespace

absl::StatusOr<bool> BoolFlag(absl::string_view name) {
  SHOAL_ASSIGN_OR_RETURN(std::string text, TextOf(name, FlagType::kBool));
  // Only these two: the package `shoal` reads switches as well, and more spellings would come to differ.
  if (text != "0" && text != "1") return BadValue(name, text, "a switch: write 0 or 1");
  return text == "1";
}

absl::StatusOr<int64_t> IntFlag(absl::string_view name) {
  SHOAL_ASSIGN_OR_RETURN(std::string text, TextOf(name, FlagType::kInt));
  int64_t value;
  if (!absl::SimpleAtoi(text, &value) || value < 0)
    return BadValue(name, text, "a whole number of 0 or more");
  return value;
}

absl::StatusOr<std::string> StringFlag(absl::string_view name) { return TextOf(name, FlagType::kString); }

absl::Status CheckFlags() {
  for (const FlagInfo& flag : kFlags) {
    if (flag.type == FlagType::kBool) SHOAL_RETURN_IF_ERROR(BoolFlag(flag.name).status());
    if (flag.type == FlagType::kInt) SHOAL_RETURN_IF_ERROR(IntFlag(flag.name).status());
  }
  return absl::OkStatus();
}

std::vector<std::string> UnknownFlags() {
  std::vector<std::string> unknown;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    absl::string_view text(*entry);
    if (!absl::StartsWith(text, "SHOAL_")) continue;
    absl::string_view name = text.substr(0, text.find('='));
    bool known = false;
    for (const FlagInfo& flag : kFlags) known |= flag.name == name;
    if (!known) unknown.emplace_back(name);
  }
  return unknown;
}

}  // namespace shoal
