#include "collectives/transport/module.h"

#include <dlfcn.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace shoal {
namespace {

// A thing of this library, to find its file.
constexpr char kHere = 0;

std::vector<std::string> PathsOf(absl::string_view file, absl::string_view build_path) {
  std::vector<std::string> paths;
  Dl_info here;
  if (dladdr(&kHere, &here) != 0 && here.dli_fname != nullptr) {
    const std::string library = here.dli_fname;
    const size_t slash = library.rfind('/');
    if (slash != std::string::npos) paths.push_back(absl::StrCat(library.substr(0, slash + 1), file));
  }
  if (!build_path.empty()) paths.emplace_back(build_path);
  return paths;
}

}  // namespace

absl::StatusOr<void*> ModuleSymbol(absl::string_view file, absl::string_view build_path,
                                   absl::string_view symbol) {
  std::vector<std::string> failures;
  for (const std::string& path : PathsOf(file, build_path)) {
    void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* address = module == nullptr ? nullptr : dlsym(module, std::string(symbol).c_str());
    if (address != nullptr) return address;
    failures.push_back(dlerror());
  }
  return absl::UnavailableError(
      absl::StrCat(file, " cannot be loaded (", absl::StrJoin(failures, "; "), ")"));
}

}  // namespace shoal
