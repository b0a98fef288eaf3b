#include "plugin/lapack/library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace shoal {
namespace {

constexpr const char* kLibraries[] = {"libopenblas.so.0", "liblapack.so.3"};

struct Library {
  void* handle = nullptr;
  std::string tried;
};

const Library& TheLibrary() {
  static const auto* const library = [] {
    auto* made = new Library;
    for (const char* name : kLibraries) {
      made->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      // An OpenBLAS may have been built without LAPACK.
      if (made->handle != nullptr && dlsym(made->handle, "dgesdd_") != nullptr) break;
      const char* why = made->handle == nullptr ? dlerror() : "it has no LAPACK";
      absl::StrAppend(&made->tried, made->tried.empty() ? "" : "; ", name, ": ", why);
      made->handle = nullptr;
    }
    return made;
  }();
  return *library;
}

}  // namespace

absl::StatusOr<LapackRoutine> LapackRoutine::Find(const std::string& name) {
  const Library& library = TheLibrary();
  if (library.handle == nullptr) {
    return absl::UnavailableError(absl::StrCat("no LAPACK on this machine (", library.tried,
                                               "): install Debian's liblapack3 or libopenblas0"));
  }
  void* symbol = dlsym(library.handle, absl::StrCat(name, "_").c_str());
  if (symbol == nullptr) return absl::UnavailableError(absl::StrCat("this machine's LAPACK has no ", name));
  return LapackRoutine(symbol);
}

}  // namespace shoal
