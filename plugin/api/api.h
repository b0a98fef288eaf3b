// What the files of plugin/api share: how an entry of the C table is written, and how statuses cross it.
//
// An entry is a function `absl::Status F(Args&)` bound by SHOAL_BIND; the wrapper checks the struct's size,
// turns a failed status into a PJRT_Error and lets no exception through. Entries that nobody binds say so by
// their name.
#pragma once

#include <cstddef>
#include <exception>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/float_mode.h"
#include "plugin/api/entry_list.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace shoal {

// What is known of each entry at compile time: entry::Client_Create::Args, ::kName, ::kLeastSize, ::kField.
namespace entry {
#define SHOAL_DECLARE_ENTRY(name, field)                                              \
  struct name {                                                                       \
    using Args = PJRT_##name##_Args;                                                  \
    static constexpr char kName[] = "PJRT_" #name;                                    \
    static constexpr size_t kLeastSize = offsetof(Args, field) + sizeof(Args::field); \
    static constexpr auto kField = &PJRT_Api::PJRT_##name;                            \
  };
SHOAL_PJRT_ENTRY_LIST(SHOAL_DECLARE_ENTRY)
#undef SHOAL_DECLARE_ENTRY
}  // namespace entry

// Null for OK. The caller of the API owns the error.
PJRT_Error* ToError(const absl::Status& status);
absl::Status ToStatus(const PJRT_Error* error);
// The same; the error is destroyed.
absl::Status TakeError(PJRT_Error* error);
// From parts that a caller gives: OK for PJRT_Error_Code_OK.
absl::Status StatusOf(PJRT_Error_Code code, const char* message, size_t message_size);

// Cold parts of the wrapper.
PJRT_Error* StructTooSmall(absl::string_view entry, size_t given, size_t least);
PJRT_Error* ExceptionCaught(absl::string_view entry, const char* what);
PJRT_Error* NotImplemented(absl::string_view entry);

template <typename Entry, auto kFunction>
PJRT_Error* CheckedEntry(typename Entry::Args* args) {
  if (args->struct_size < Entry::kLeastSize)
    return StructTooSmall(Entry::kName, args->struct_size, Entry::kLeastSize);
  const StandardFloatMode mode;  // of folding, and of what runs on the caller's thread
  try {
    absl::Status status = kFunction(*args);
    return status.ok() ? nullptr : ToError(status);
  } catch (const std::exception& e) {
    return ExceptionCaught(Entry::kName, e.what());
  }
}
// The same for an extension, whose entries are in no list.
template <const char* kName, auto kFunction, typename Args>
PJRT_Error* ExtensionEntry(Args* args) {
  try {
    return ToError(kFunction(*args));
  } catch (const std::exception& e) {
    return ExceptionCaught(kName, e.what());
  }
}
#define SHOAL_BIND(api, name, function) \
  ((api).*::shoal::entry::name::kField = &::shoal::CheckedEntry<::shoal::entry::name, &function>)

// Whether the caller's struct is new enough to have `field`.
#define SHOAL_HAS_FIELD(args, field) \
  ((args).struct_size >= offsetof(std::remove_cvref_t<decltype(args)>, field) + sizeof((args).field))

inline absl::string_view View(const char* data, size_t size) {
  return data == nullptr ? absl::string_view() : absl::string_view(data, size);
}

// Each binds the entries of one object; defined in <object>_api.cc.
void BindError(PJRT_Api& api);
void BindPlugin(PJRT_Api& api);
void BindEvent(PJRT_Api& api);
void BindClient(PJRT_Api& api);
void BindDevice(PJRT_Api& api);
void BindMemory(PJRT_Api& api);
void BindExecutable(PJRT_Api& api);
void BindLoadedExecutable(PJRT_Api& api);
void BindBuffer(PJRT_Api& api);
void BindTransfer(PJRT_Api& api);
void BindHostTransfer(PJRT_Api& api);
void BindTopology(PJRT_Api& api);

// The extensions, each defined in <name>_extension.cc; `next` is the one after it.
PJRT_Extension_Base* LayoutsExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* ShardingsExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* MemoryDescriptionsExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* FfiExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* CustomPartitionerExtension(PJRT_Extension_Base* next);

// The table with all entries, made once.
const PJRT_Api* UntracedApi();
// The same, each call printed to stderr.
const PJRT_Api* TracedApi(const PJRT_Api* untraced);

}  // namespace shoal
