#include "plugin/ffi/types.h"

#include <mutex>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace shoal {
namespace {

struct Type {
  std::string name;
  FfiDeleter deleter = nullptr;
};

struct Types {
  std::mutex mutex;
  absl::flat_hash_map<std::string, int64_t> ids;  // guarded by mutex
  absl::flat_hash_map<int64_t, Type> types;       // guarded by mutex
  int64_t next = int64_t{1} << 32;                // guarded by mutex
};

Types& AllTypes() {
  static auto* const types = new Types;
  return *types;
}

}  // namespace

absl::StatusOr<int64_t> RegisterFfiType(absl::string_view name, int64_t id, FfiDeleter deleter) {
  Types& all = AllTypes();
  std::lock_guard<std::mutex> lock(all.mutex);
  const auto known = all.ids.find(name);
  if (known != all.ids.end()) {
    if (id != 0 && id != known->second) {
      return absl::AlreadyExistsError(absl::StrCat("the FFI type '", name, "' has the id ", known->second,
                                                   ", it cannot be registered as ", id));
    }
    if (deleter != nullptr) all.types[known->second].deleter = deleter;
    return known->second;
  }
  if (id == 0) id = all.next++;
  const auto [it, added] = all.types.try_emplace(id, Type{std::string(name), deleter});
  if (!added) {
    return absl::AlreadyExistsError(
        absl::StrCat("the id ", id, " of the FFI type '", name, "' belongs to '", it->second.name, "'"));
  }
  all.ids[std::string(name)] = id;
  return id;
}

FfiDeleter FfiDeleterOf(int64_t id) {
  Types& all = AllTypes();
  std::lock_guard<std::mutex> lock(all.mutex);
  const auto it = all.types.find(id);
  return it == all.types.end() ? nullptr : it->second.deleter;
}

}  // namespace shoal
