// A caller of the C API as jaxlib is one: structs filled by hand, errors read and destroyed. For tests.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "plugin/api/compile_options.pb.h"
#include "xla/pjrt/c/pjrt_c_api.h"

extern "C" const PJRT_Api* GetPjrtApi();

namespace shoal {

template <typename Args>
Args Make(size_t size) {
  Args args;
  std::memset(&args, 0, sizeof(args));
  args.struct_size = size;
  return args;
}
#define ARGS(name) Make<PJRT_##name##_Args>(PJRT_##name##_Args_STRUCT_SIZE)

// A client of three devices.
class CApiTest : public ::testing::Test {
 public:  // a callback reads errors too
  static constexpr int kDevices = 3;

  void SetUp() override {
    auto args = ARGS(Client_Create);
    PJRT_NamedValue devices = {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                               .name = "num_devices",
                               .name_size = 11,
                               .type = PJRT_NamedValue_kInt64};
    devices.int64_value = kDevices;
    devices.value_size = 1;
    args.create_options = &devices;
    args.num_options = 1;
    ASSERT_EQ(Message(api_->PJRT_Client_Create(&args)), "");
    client_ = args.client;
    auto list = ARGS(Client_AddressableDevices);
    list.client = client_;
    ASSERT_EQ(Message(api_->PJRT_Client_AddressableDevices(&list)), "");
    devices_.assign(list.addressable_devices, list.addressable_devices + list.num_addressable_devices);
  }
  void TearDown() override {
    auto args = ARGS(Client_Destroy);
    args.client = client_;
    EXPECT_EQ(Message(api_->PJRT_Client_Destroy(&args)), "");
  }

  // The error's message ("" for none), which is destroyed.
  std::string Message(PJRT_Error* error, PJRT_Error_Code* code = nullptr) {
    if (error == nullptr) return "";
    auto args = ARGS(Error_Message);
    args.error = error;
    api_->PJRT_Error_Message(&args);
    std::string message(args.message, args.message_size);
    auto get_code = ARGS(Error_GetCode);
    get_code.error = error;
    EXPECT_EQ(api_->PJRT_Error_GetCode(&get_code), nullptr);
    if (code != nullptr) *code = get_code.code;
    auto destroy = ARGS(Error_Destroy);
    destroy.error = error;
    api_->PJRT_Error_Destroy(&destroy);
    return message.empty() ? "an error without a message" : message;
  }

  void DestroyEvent(PJRT_Event* event) {
    auto args = ARGS(Event_Destroy);
    args.event = event;
    EXPECT_EQ(Message(api_->PJRT_Event_Destroy(&args)), "");
  }
  std::string Await(PJRT_Event* event) {
    auto args = ARGS(Event_Await);
    args.event = event;
    std::string message = Message(api_->PJRT_Event_Await(&args));
    DestroyEvent(event);
    return message;
  }
  // The event of a buffer that is not ready yet, for Await.
  PJRT_Event* PendingReadyEvent(PJRT_Buffer* buffer) {
    auto args = ARGS(Buffer_ReadyEvent);
    args.buffer = buffer;
    EXPECT_EQ(Message(api_->PJRT_Buffer_ReadyEvent(&args)), "");
    auto is_ready = ARGS(Event_IsReady);
    is_ready.event = args.event;
    EXPECT_EQ(Message(api_->PJRT_Event_IsReady(&is_ready)), "");
    EXPECT_FALSE(is_ready.is_ready);
    return args.event;
  }
  void Destroy(PJRT_Buffer* buffer) {
    auto args = ARGS(Buffer_Destroy);
    args.buffer = buffer;
    EXPECT_EQ(Message(api_->PJRT_Buffer_Destroy(&args)), "");
  }

  PJRT_Buffer* Put(const std::vector<float>& values, int device = 0) {
    auto args = ARGS(Client_BufferFromHostBuffer);
    int64_t dim = values.size();
    args.client = client_;
    args.data = values.data();
    args.type = PJRT_Buffer_Type_F32;
    args.dims = &dim;
    args.num_dims = 1;
    args.device = devices_[device];
    EXPECT_EQ(Message(api_->PJRT_Client_BufferFromHostBuffer(&args)), "");
    EXPECT_EQ(Await(args.done_with_host_buffer), "");
    return args.buffer;
  }
  std::vector<float> Get(PJRT_Buffer* buffer) {
    auto args = ARGS(Buffer_ToHostBuffer);
    args.src = buffer;
    EXPECT_EQ(Message(api_->PJRT_Buffer_ToHostBuffer(&args)), "");
    std::vector<float> values(args.dst_size / sizeof(float));
    args.dst = values.data();
    EXPECT_EQ(Message(api_->PJRT_Buffer_ToHostBuffer(&args)), "");
    EXPECT_EQ(Await(args.event), "");
    return values;
  }

  std::string TryCompile(std::string code, const wire::CompileOptions& options, PJRT_LoadedExecutable** out) {
    PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                            .code = code.data(),
                            .code_size = code.size(),
                            .format = format_.data(),
                            .format_size = format_.size()};
    std::string bytes = options.SerializeAsString();
    auto args = ARGS(Client_Compile);
    args.client = client_;
    args.program = &program;
    args.compile_options = bytes.data();
    args.compile_options_size = bytes.size();
    std::string message = Message(api_->PJRT_Client_Compile(&args));
    *out = args.executable;
    return message;
  }
  PJRT_LoadedExecutable* Compile(std::string code, std::vector<int64_t> devices = {0}) {
    wire::CompileOptions options;
    auto* build = options.mutable_executable_build_options();
    build->set_num_partitions(devices.size());
    build->mutable_device_assignment()->set_replica_count(1);
    build->mutable_device_assignment()->set_computation_count(devices.size());
    for (int64_t device : devices) {
      build->mutable_device_assignment()->add_computation_devices()->add_replica_device_ids(device);
    }
    PJRT_LoadedExecutable* executable;
    EXPECT_EQ(TryCompile(code, options, &executable), "");
    return executable;
  }
  void Destroy(PJRT_LoadedExecutable* executable) {
    auto args = ARGS(LoadedExecutable_Destroy);
    args.executable = executable;
    EXPECT_EQ(Message(api_->PJRT_LoadedExecutable_Destroy(&args)), "");
  }

  // Starts a run of one argument and one result a device; `events` say when each device has ended.
  std::string Launch(PJRT_LoadedExecutable* executable, const std::vector<PJRT_Buffer*>& arguments,
                     PJRT_ExecuteOptions options, std::vector<PJRT_Buffer*>* results,
                     std::vector<PJRT_Event*>* events) {
    const size_t n = arguments.size();
    results->assign(n, nullptr);
    events->assign(n, nullptr);
    std::vector<PJRT_Buffer* const*> argument_lists;
    std::vector<PJRT_Buffer**> output_lists;
    for (size_t d = 0; d < n; ++d) {
      argument_lists.push_back(&arguments[d]);
      output_lists.push_back(&(*results)[d]);
    }
    auto args = ARGS(LoadedExecutable_Execute);
    args.executable = executable;
    args.options = &options;
    args.argument_lists = argument_lists.data();
    args.num_devices = n;
    args.num_args = 1;
    args.output_lists = output_lists.data();
    args.device_complete_events = events->data();
    return Message(api_->PJRT_LoadedExecutable_Execute(&args));
  }
  // The same, waited for.
  std::string Execute(PJRT_LoadedExecutable* executable, const std::vector<PJRT_Buffer*>& arguments,
                      std::vector<PJRT_Buffer*>* results, std::vector<int64_t> kept = {}) {
    PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
    options.non_donatable_input_indices = kept.data();
    options.num_non_donatable_input_indices = kept.size();
    std::vector<PJRT_Event*> events;
    std::string message = Launch(executable, arguments, options, results, &events);
    if (!message.empty()) return message;
    for (PJRT_Event* event : events) EXPECT_EQ(Await(event), "");
    return "";
  }

  const PJRT_Api* api_ = GetPjrtApi();
  std::string format_ = "mlir";  // of programs that are compiled
  PJRT_Client* client_ = nullptr;
  std::vector<PJRT_Device*> devices_;
};

}  // namespace shoal
