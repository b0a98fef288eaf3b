#include "core/hlo/origin.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace shoal {
namespace {
constexpr absl::string_view kAt = " at ";
}  // namespace

Origin ParseOrigin(absl::string_view text) {
  Origin origin{text, {}, 0};
  const size_t at = text.rfind(kAt), colon = text.rfind(':');
  if (at == absl::string_view::npos || colon == absl::string_view::npos || colon < at) return origin;
  int64_t line = 0;
  if (!absl::SimpleAtoi(text.substr(colon + 1), &line)) return origin;
  const size_t file = at + kAt.size();
  return {text.substr(0, at), text.substr(file, colon - file), line};
}

std::string OriginText(const Origin& origin) {
  if (origin.file.empty()) return std::string(origin.name);
  return absl::StrCat(origin.name, kAt, origin.file, ":", origin.line);
}

std::string ShortOrigin(absl::string_view text) {
  Origin origin = ParseOrigin(text);
  for (absl::string_view* path : {&origin.name, &origin.file}) path->remove_prefix(path->rfind('/') + 1);
  return OriginText(origin);
}

std::string WithNamePart(absl::string_view text, absl::string_view part) {
  Origin origin = ParseOrigin(text);
  const std::string name = absl::StrCat(origin.name, "/", part);
  origin.name = name;
  return OriginText(origin);
}

}  // namespace shoal
