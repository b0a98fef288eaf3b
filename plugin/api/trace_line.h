// TraceLine: the text of one traced call, built field by field.
//
//   shoal trace    12.345 ms  Client.BufferFromHostBuffer(client#1, f32[3], ...) -> buffer#7, event#3  (4.1
//   us)
//
// Handles are named by what they are: "buffer#7 f32[3]", "device cpu:0". Numbers are given at first sight.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "plugin/api/handles.h"

namespace shoal {

class TraceLine {
 public:
  template <typename Value>
  TraceLine& Field(absl::string_view name, const Value& value) {
    Add(name, Text(value));
    return *this;
  }
  TraceLine& String(absl::string_view name, const char* data, size_t size);
  TraceLine& Bytes(absl::string_view name, size_t size);
  template <typename Value>
  TraceLine& List(absl::string_view name, const Value* values, size_t count) {
    std::string text = "[";
    for (size_t i = 0; i < count; ++i) absl::StrAppend(&text, i == 0 ? "" : ",", values[i]);
    if (count > 0) Add(name, absl::StrCat(text, "]"));
    return *this;
  }
  TraceLine& ShapeField(PJRT_Buffer_Type type, const int64_t* dims, size_t num_dims);
  TraceLine& Arguments(const PJRT_LoadedExecutable_Execute_Args& args);
  TraceLine& Results(const PJRT_LoadedExecutable_Execute_Args& args);

  const std::string& text() const { return text_; }

 private:
  // Numbers and booleans stand as "name=value"; what names itself stands alone; null handles are left out.
  void Add(absl::string_view name, const std::string& value);

  template <typename Number>
    requires std::is_arithmetic_v<Number>
  static std::string Text(Number value) {
    return absl::StrCat("=", value);
  }
  static std::string Text(bool value) { return value ? "=true" : "=false"; }
  static std::string Text(const void* pointer);
  static std::string Text(PJRT_Error_Code code);
  static std::string Text(PJRT_Buffer_Type type);
  static std::string Text(PJRT_HostBufferSemantics semantics);
  static std::string Text(const PJRT_Program* program);
  static std::string Text(const PJRT_Client* client);
  static std::string Text(const PJRT_Device* device);
  static std::string Text(const PJRT_DeviceDescription* description);
  static std::string Text(PJRT_Memory* memory);
  static std::string Text(const PJRT_Buffer* buffer);
  static std::string Text(const PJRT_Event* event);
  static std::string Text(const PJRT_Executable* executable);
  static std::string Text(const PJRT_LoadedExecutable* executable);
  static std::string Text(const PJRT_TopologyDescription* topology);
  static std::string Text(const PJRT_AsyncHostToDeviceTransferManager* manager);
  static std::string Text(const PJRT_ExecuteContext* context);

  std::string text_;
};

// The name that a traced object has: "buffer#7".
std::string NameHandle(absl::string_view kind, const void* handle);
// The object is gone; another one at its address gets a new number.
void ForgetHandle(const void* handle);

}  // namespace shoal
