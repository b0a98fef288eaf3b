#include <set>

#include "gmock/gmock.h"
#include "plugin/api/api.h"
#include "tests/plugin/api/c_api_caller.h"
#include "xla/pjrt/c/pjrt_c_api_layouts_extension.h"
#include "xla/pjrt/c/pjrt_c_api_memory_descriptions_extension.h"

namespace shoal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(CApiTest, EveryEntryIsThereAndTheVersionIsTheHeaders) {
  EXPECT_EQ(api_->struct_size, PJRT_Api_STRUCT_SIZE);
  EXPECT_EQ(api_->pjrt_api_version.minor_version, PJRT_API_MINOR);
  auto* entries = reinterpret_cast<void* const*>(&api_->PJRT_Error_Destroy);
  size_t count = (PJRT_Api_STRUCT_SIZE - offsetof(PJRT_Api, PJRT_Error_Destroy)) / sizeof(void*);
  for (size_t i = 0; i < count; ++i) EXPECT_NE(entries[i], nullptr) << "entry " << i;
}

TEST_F(CApiTest, WhatIsMissingSaysItsName) {
  auto args = ARGS(Device_PoisonExecution);
  PJRT_Error_Code code;
  EXPECT_THAT(Message(api_->PJRT_Device_PoisonExecution(&args), &code),
              HasSubstr("PJRT_Device_PoisonExecution is not implemented"));
  EXPECT_EQ(code, PJRT_Error_Code_UNIMPLEMENTED);
}

TEST_F(CApiTest, ATooSmallStructIsAClearError) {
  auto args = ARGS(Client_LookupDevice);
  args.struct_size = offsetof(PJRT_Client_LookupDevice_Args, device);
  PJRT_Error_Code code;
  EXPECT_THAT(Message(api_->PJRT_Client_LookupDevice(&args), &code), HasSubstr("PJRT_Client_LookupDevice"));
  EXPECT_EQ(code, PJRT_Error_Code_INVALID_ARGUMENT);
}

TEST_F(CApiTest, AnOlderCallersStructsAreFilledOnlyAsFarAsTheyGo) {
  auto stats = ARGS(Device_MemoryStats);
  stats.struct_size = offsetof(PJRT_Device_MemoryStats_Args, peak_allocated_bytes);
  stats.device = devices_[0];
  stats.peak_allocated_bytes_is_set = true;  // beyond the caller's struct
  EXPECT_EQ(Message(api_->PJRT_Device_MemoryStats(&stats)), "");
  EXPECT_TRUE(stats.peak_allocated_bytes_is_set);
  EXPECT_TRUE(stats.peak_bytes_in_use_is_set);
}

TEST_F(CApiTest, UnknownClientOptionsAreNamed) {
  auto args = ARGS(Client_Create);
  PJRT_NamedValue option = {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                            .name = "colour",
                            .name_size = 6,
                            .type = PJRT_NamedValue_kInt64};
  args.create_options = &option;
  args.num_options = 1;
  EXPECT_THAT(Message(api_->PJRT_Client_Create(&args)), HasSubstr("\"colour\""));
}

TEST_F(CApiTest, DevicesDescribeThemselves) {
  ASSERT_EQ(devices_.size(), kDevices);
  auto get = ARGS(Device_GetDescription);
  get.device = devices_[2];
  EXPECT_EQ(Message(api_->PJRT_Device_GetDescription(&get)), "");
  auto text = ARGS(DeviceDescription_ToString);
  text.device_description = get.device_description;
  EXPECT_EQ(Message(api_->PJRT_DeviceDescription_ToString(&text)), "");
  EXPECT_EQ(std::string(text.to_string, text.to_string_size), "CpuDevice(id=2)");
  auto platform = ARGS(Client_PlatformName);
  platform.client = client_;
  EXPECT_EQ(Message(api_->PJRT_Client_PlatformName(&platform)), "");
  EXPECT_EQ(std::string(platform.platform_name, platform.platform_name_size), "cpu");
}

TEST_F(CApiTest, MemoriesHaveKindsAndCarryCallersData) {
  auto list = ARGS(Device_AddressableMemories);
  list.device = devices_[1];
  EXPECT_EQ(Message(api_->PJRT_Device_AddressableMemories(&list)), "");
  std::vector<std::string> kinds;
  for (size_t i = 0; i < list.num_memories; ++i) {
    auto kind = ARGS(Memory_Kind);
    kind.memory = list.memories[i];
    EXPECT_EQ(Message(api_->PJRT_Memory_Kind(&kind)), "");
    kinds.emplace_back(kind.kind, kind.kind_size);
  }
  EXPECT_THAT(kinds, ElementsAre("device", "pinned_host", "unpinned_host"));
  PJRT_Memory* memory = list.memories[0];
  static int key, deleted;
  deleted = 0;
  EXPECT_EQ(memory->vtable->get_user_data(memory, &key), nullptr);
  memory->vtable->set_user_data(memory, &key, &key, [](void*) { ++deleted; });
  EXPECT_EQ(memory->vtable->get_user_data(memory, &key), &key);
  memory->vtable->set_user_data(memory, &key, nullptr, nullptr);
  EXPECT_EQ(deleted, 1);
}

TEST_F(CApiTest, CompilesAndRunsOnOneDevice) {
  PJRT_LoadedExecutable* executable = Compile("add_one f32[3]", {1});
  PJRT_Buffer* x = Put({1, 2, 3}, 1);
  std::vector<PJRT_Buffer*> results;
  ASSERT_EQ(Execute(executable, {x}, &results), "");
  EXPECT_THAT(Get(results[0]), ElementsAre(2, 3, 4));
  auto device = ARGS(Buffer_Device);
  device.buffer = results[0];
  EXPECT_EQ(Message(api_->PJRT_Buffer_Device(&device)), "");
  EXPECT_EQ(device.device, devices_[1]);
  Destroy(results[0]);
  Destroy(x);
  Destroy(executable);
}

TEST_F(CApiTest, RunsOnSeveralDevicesInTheOrderOfItsPartitions) {
  PJRT_LoadedExecutable* executable = Compile("add_one f32[2]", {2, 0});
  PJRT_Buffer* a = Put({1, 2}, 2);
  PJRT_Buffer* b = Put({3, 4}, 0);
  std::vector<PJRT_Buffer*> results;
  ASSERT_EQ(Execute(executable, {a, b}, &results), "");
  EXPECT_THAT(Get(results[0]), ElementsAre(2, 3));
  EXPECT_THAT(Get(results[1]), ElementsAre(4, 5));
  EXPECT_THAT(Execute(executable, {b, a}, &results), HasSubstr("argument 0"));
  for (PJRT_Buffer* buffer : {a, b}) Destroy(buffer);
  Destroy(executable);
}

TEST_F(CApiTest, DonatedBuffersAreDeletedAndKeptOnesStay) {
  PJRT_LoadedExecutable* executable = Compile("donating f32[2]");
  PJRT_Buffer* x = Put({1, 2});
  std::vector<PJRT_Buffer*> kept, taken;
  ASSERT_EQ(Execute(executable, {x}, &kept, {0}), "");
  EXPECT_THAT(Get(x), ElementsAre(1, 2));
  ASSERT_EQ(Execute(executable, {x}, &taken), "");
  auto deleted = ARGS(Buffer_IsDeleted);
  deleted.buffer = x;
  EXPECT_EQ(Message(api_->PJRT_Buffer_IsDeleted(&deleted)), "");
  EXPECT_TRUE(deleted.is_deleted);
  EXPECT_THAT(Get(taken[0]), ElementsAre(2, 3));
  EXPECT_THAT(Execute(executable, {x}, &taken), HasSubstr("donated"));
  for (PJRT_Buffer* buffer : {x, kept[0]}) Destroy(buffer);
  Destroy(executable);
}

TEST_F(CApiTest, BadCompileOptionsAndProgramsAreErrors) {
  PJRT_LoadedExecutable* executable;
  wire::CompileOptions options;
  EXPECT_THAT(TryCompile("nonsense", options, &executable), HasSubstr("no program"));
  (*options.mutable_env_option_overrides())["no_such_thing"].set_bool_field(true);
  EXPECT_THAT(TryCompile("add_one f32[2]", options, &executable), HasSubstr("no_such_thing"));
  options.clear_env_option_overrides();
  options.mutable_executable_build_options()->set_num_partitions(7);
  EXPECT_THAT(TryCompile("add_one f32[2]", options, &executable),
              HasSubstr("want 7 devices, this job has 3"));
  auto* assignment = options.mutable_executable_build_options()->mutable_device_assignment();
  assignment->add_computation_devices()->add_replica_device_ids(0);
  EXPECT_THAT(TryCompile("add_one f32[2]", options, &executable), HasSubstr("7 partitions, and 1"));
}

TEST_F(CApiTest, WhatOptionsAskForIsReadOrRefused) {
  PJRT_LoadedExecutable* executable;
  wire::CompileOptions options;
  wire::ArrayShape& shape = *options.add_argument_layouts();
  shape.set_element_type(11);  // f32
  shape.add_dimensions(2);
  shape.add_dimensions(3);
  shape.mutable_layout()->add_minor_to_major(1);
  EXPECT_THAT(TryCompile("add_one f32[2,3]", options, &executable),
              HasSubstr("{1} is no layout of f32[2,3]"));
  shape.mutable_layout()->add_minor_to_major(0);
  ASSERT_EQ(TryCompile("add_one f32[2,3]", options, &executable), "");
  Destroy(executable);
  shape.mutable_layout()->add_tiles("");
  EXPECT_THAT(TryCompile("add_one f32[2,3]", options, &executable), HasSubstr("tiled layout"));
  options.clear_argument_layouts();
  options.mutable_executable_build_options()->set_use_auto_spmd_partitioning(true);
  EXPECT_THAT(TryCompile("add_one f32[2,3]", options, &executable), HasSubstr("use_auto_spmd_partitioning"));
}

TEST_F(CApiTest, ExecutablesSayWhatTheyTakeAndGiveAndCanBeSerialized) {
  PJRT_LoadedExecutable* loaded = Compile("add_one f32[3,5] s8[2]", {1});
  auto get = ARGS(LoadedExecutable_GetExecutable);
  get.loaded_executable = loaded;
  ASSERT_EQ(Message(api_->PJRT_LoadedExecutable_GetExecutable(&get)), "");
  auto dims = ARGS(Executable_OutputDimensions);
  dims.executable = get.executable;
  ASSERT_EQ(Message(api_->PJRT_Executable_OutputDimensions(&dims)), "");
  EXPECT_EQ(std::vector<int64_t>(dims.dims, dims.dims + 3), (std::vector<int64_t>{3, 5, 2}));
  auto types = ARGS(Executable_OutputElementTypes);
  types.executable = get.executable;
  ASSERT_EQ(Message(api_->PJRT_Executable_OutputElementTypes(&types)), "");
  EXPECT_EQ(types.output_types[1], PJRT_Buffer_Type_S8);
  auto serialize = ARGS(Executable_Serialize);
  serialize.executable = get.executable;
  ASSERT_EQ(Message(api_->PJRT_Executable_Serialize(&serialize)), "");
  auto load = ARGS(Executable_DeserializeAndLoad);
  load.client = client_;
  load.serialized_executable = serialize.serialized_bytes;
  load.serialized_executable_size = serialize.serialized_bytes_size;
  ASSERT_EQ(Message(api_->PJRT_Executable_DeserializeAndLoad(&load)), "");
  std::string damaged(serialize.serialized_bytes, serialize.serialized_bytes_size);
  serialize.serialized_executable_deleter(serialize.serialized_executable);
  auto devices = ARGS(LoadedExecutable_AddressableDevices);
  devices.executable = load.loaded_executable;
  ASSERT_EQ(Message(api_->PJRT_LoadedExecutable_AddressableDevices(&devices)), "");
  ASSERT_EQ(devices.num_addressable_devices, 1);
  EXPECT_EQ(devices.addressable_devices[0], devices_[1]);
  load.serialized_executable = "broken";
  load.serialized_executable_size = 6;
  EXPECT_NE(Message(api_->PJRT_Executable_DeserializeAndLoad(&load)), "");
  for (size_t i = 0; i < damaged.size(); i += 1 + damaged.size() / 61) {
    damaged[i] ^= 4;
    load.serialized_executable = damaged.data();
    load.serialized_executable_size = damaged.size();
    EXPECT_THAT(Message(api_->PJRT_Executable_DeserializeAndLoad(&load)), testing::HasSubstr("damaged")) << i;
    damaged[i] ^= 4;
  }
  auto destroy = ARGS(Executable_Destroy);
  destroy.executable = get.executable;
  EXPECT_EQ(Message(api_->PJRT_Executable_Destroy(&destroy)), "");
  Destroy(devices.executable);
  Destroy(loaded);
}

TEST_F(CApiTest, EventsCallBackAndAreSetOnce) {
  auto create = ARGS(Event_Create);
  ASSERT_EQ(Message(api_->PJRT_Event_Create(&create)), "");
  std::string heard;
  struct Context {
    CApiTest* test;
    std::string* heard;
  } context{this, &heard};
  auto on_ready = ARGS(Event_OnReady);
  on_ready.event = create.event;
  on_ready.user_arg = &context;
  on_ready.callback = [](PJRT_Error* error, void* arg) {
    auto* context = static_cast<Context*>(arg);
    *context->heard = context->test->Message(error);
  };
  ASSERT_EQ(Message(api_->PJRT_Event_OnReady(&on_ready)), "");
  auto set = ARGS(Event_Set);
  set.event = create.event;
  set.error_code = PJRT_Error_Code_ABORTED;
  set.error_message = "enough";
  set.error_message_size = 6;
  EXPECT_EQ(Message(api_->PJRT_Event_Set(&set)), "");
  EXPECT_EQ(heard, "enough");
  EXPECT_NE(Message(api_->PJRT_Event_Set(&set)), "");
  EXPECT_EQ(Await(create.event), "enough");
}

TEST_F(CApiTest, ABadShapeIsAnError) {
  float value = 0;
  for (std::vector<int64_t> dims : {std::vector<int64_t>{-1}, {int64_t{1} << 40, int64_t{1} << 40}}) {
    auto args = ARGS(Client_BufferFromHostBuffer);
    args.client = client_;
    args.data = &value;
    args.type = PJRT_Buffer_Type_F32;
    args.dims = dims.data();
    args.num_dims = dims.size();
    args.device = devices_[0];
    EXPECT_NE(Message(api_->PJRT_Client_BufferFromHostBuffer(&args)), "");
  }
}

template <typename Extension>
const Extension* Find(const PJRT_Api* api, PJRT_Extension_Type type) {
  for (PJRT_Extension_Base* e = api->extension_start; e != nullptr; e = e->next) {
    if (e->type == type) return reinterpret_cast<const Extension*>(e);
  }
  return nullptr;
}

TEST_F(CApiTest, ADonatedBufferWaitsForTheCallersWord) {
  for (const bool fails : {false, true}) {
    PJRT_Buffer* x = Put({1, 2, 3});
    auto args = ARGS(Buffer_DonateWithControlDependency);
    args.buffer = x;
    ASSERT_EQ(Message(api_->PJRT_Buffer_DonateWithControlDependency(&args)), "");
    auto deleted = ARGS(Buffer_IsDeleted);
    deleted.buffer = x;
    EXPECT_EQ(Message(api_->PJRT_Buffer_IsDeleted(&deleted)), "");
    EXPECT_TRUE(deleted.is_deleted);
    PJRT_Event* ready = PendingReadyEvent(args.out_buffer);
    PJRT_Buffer_DonateWithControlDependency_Callback_Args word = {
        PJRT_Buffer_DonateWithControlDependency_Callback_Args_STRUCT_SIZE, args.callback_data,
        fails ? PJRT_Error_Code_ABORTED : PJRT_Error_Code_OK, "no more", fails ? 7u : 0u};
    args.dependency_ready_callback(&word);
    EXPECT_EQ(Await(ready), fails ? "no more" : "");
    if (!fails) {
      EXPECT_THAT(Get(args.out_buffer), ElementsAre(1, 2, 3));
    }
    for (PJRT_Buffer* buffer : {x, args.out_buffer}) Destroy(buffer);
  }
}

// An alias of three floats on device 0, and what fulfils it.
PJRT_Client_CreateAliasBuffer_Args NewAlias(CApiTest& test) {
  auto memory = ARGS(Device_DefaultMemory);
  memory.device = test.devices_[0];
  EXPECT_EQ(test.Message(test.api_->PJRT_Device_DefaultMemory(&memory)), "");
  static constexpr int64_t kDim = 3;
  auto args = ARGS(Client_CreateAliasBuffer);
  args.client = test.client_;
  args.memory = memory.memory;
  args.shape_dims = &kDim;
  args.shape_num_dims = 1;
  args.shape_element_type = PJRT_Buffer_Type_F32;
  EXPECT_EQ(test.Message(test.api_->PJRT_Client_CreateAliasBuffer(&args)), "");
  return args;
}

TEST_F(CApiTest, AliasesAreComputedWithBeforeTheyAreFulfilled) {
  PJRT_LoadedExecutable* executable = Compile("add_one f32[3]");
  PJRT_Buffer* right = Put({1, 2, 3});
  PJRT_Buffer* wrong = Put({1, 2});
  struct Case {
    PJRT_Buffer* source;
    PJRT_Error_Code code;
    std::string error;
  };
  for (const Case& c :
       {Case{right, PJRT_Error_Code_OK, ""}, Case{nullptr, PJRT_Error_Code_ABORTED, "no more"},
        Case{wrong, PJRT_Error_Code_OK, "f32[3] is fulfilled by f32[2]"}}) {
    const auto made = NewAlias(*this);
    auto run = ARGS(LoadedExecutable_Execute);
    PJRT_ExecuteOptions run_options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
    PJRT_Buffer* const* arguments = &made.alias_buffer;
    PJRT_Buffer* result = nullptr;
    PJRT_Buffer** results = &result;
    run.executable = executable;
    run.options = &run_options;
    run.argument_lists = &arguments;
    run.num_devices = run.num_args = 1;
    run.output_lists = &results;
    ASSERT_EQ(Message(api_->PJRT_LoadedExecutable_Execute(&run)), "");
    auto ready = ARGS(Buffer_ReadyEvent);
    ready.buffer = result;
    ASSERT_EQ(Message(api_->PJRT_Buffer_ReadyEvent(&ready)), "");
    auto fulfill = ARGS(Client_FulfillAliasBuffer);
    fulfill.client = client_;
    fulfill.buffer = c.source;
    fulfill.status_code = c.code;
    fulfill.error_message = "no more";
    fulfill.error_message_size = 7;
    fulfill.fulfill_alias_buffer_cb = made.fulfill_alias_buffer_cb;
    EXPECT_THAT(Message(api_->PJRT_Client_FulfillAliasBuffer(&fulfill)), HasSubstr(c.error));
    EXPECT_THAT(Await(ready.event), HasSubstr(c.error));
    if (c.error.empty()) {
      EXPECT_THAT(Get(result), ElementsAre(2, 3, 4));
    }
    for (PJRT_Buffer* buffer : {made.alias_buffer, result}) Destroy(buffer);
  }
  for (PJRT_Buffer* buffer : {right, wrong}) Destroy(buffer);
  Destroy(executable);
}

TEST_F(CApiTest, ADonationWaitsForACopyWhoseTargetComesLater) {
  PJRT_LoadedExecutable* executable = Compile("donating f32[3]");
  PJRT_Buffer* x = Put({1, 2, 3});
  auto pointer = ARGS(Buffer_UnsafePointer);
  pointer.buffer = x;
  ASSERT_EQ(Message(api_->PJRT_Buffer_UnsafePointer(&pointer)), "");
  const uintptr_t address = pointer.buffer_pointer;
  auto args = ARGS(Buffer_CopyRawToHostFuture);
  args.buffer = x;
  args.offset = sizeof(float);
  args.transfer_size = 2 * sizeof(float);
  ASSERT_EQ(Message(api_->PJRT_Buffer_CopyRawToHostFuture(&args)), "");
  auto donate = ARGS(Buffer_DonateWithControlDependency);
  donate.buffer = x;
  ASSERT_EQ(Message(api_->PJRT_Buffer_DonateWithControlDependency(&donate)), "");
  PJRT_Buffer_DonateWithControlDependency_Callback_Args word = {
      PJRT_Buffer_DonateWithControlDependency_Callback_Args_STRUCT_SIZE, donate.callback_data,
      PJRT_Error_Code_OK, "", 0};
  donate.dependency_ready_callback(&word);
  PJRT_Event* ready = PendingReadyEvent(donate.out_buffer);
  float target[2] = {};
  PJRT_Buffer_CopyRawToHostFuture_Callback_Args told = {
      PJRT_Buffer_CopyRawToHostFuture_Callback_Args_STRUCT_SIZE,
      args.callback_data,
      PJRT_Error_Code_OK,
      nullptr,
      0,
      target};
  args.future_ready_callback(&told);
  EXPECT_EQ(Await(args.event), "");
  EXPECT_THAT(target, ElementsAre(2, 3));
  EXPECT_EQ(Await(ready), "");
  // What was copied is nobody's: the next program takes the memory itself.
  std::vector<PJRT_Buffer*> results;
  ASSERT_EQ(Execute(executable, {donate.out_buffer}, &results), "");
  pointer.buffer = results[0];
  ASSERT_EQ(Message(api_->PJRT_Buffer_UnsafePointer(&pointer)), "");
  EXPECT_EQ(pointer.buffer_pointer, address);
  for (PJRT_Buffer* buffer : {x, donate.out_buffer, results[0]}) Destroy(buffer);
  Destroy(executable);
}

TEST_F(CApiTest, TheCanonicalShapeIsRowMajorInEveryMemory) {
  auto topology = ARGS(Client_TopologyDescription);
  topology.client = client_;
  ASSERT_EQ(Message(api_->PJRT_Client_TopologyDescription(&topology)), "");
  const int64_t dims[] = {5, 7};
  auto args = ARGS(TopologyDescription_MakeCanonicalShapeForMemorySpace);
  args.topology = topology.topology;
  args.memory_space_kind_id = 1;
  args.dims = dims;
  args.num_dims = 2;
  args.element_type = PJRT_Buffer_Type_BF16;
  ASSERT_EQ(Message(api_->PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace(&args)), "");
  // Element type 16, dimensions, minor to major and what is dynamic, as xla_data.proto numbers them.
  EXPECT_EQ(std::string(args.serialized_shape, args.serialized_shape_size),
            std::string("\x10\x10\x1a\x02\x05\x07\x2a\x04\x0a\x02\x01\x00\x32\x02\x00\x00", 16));
  args.serialized_shape_deleter(args.serialized_shape);
  args.memory_space_kind_id = 3;
  EXPECT_THAT(Message(api_->PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace(&args)),
              HasSubstr("there are 0 to 2"));
}

TEST_F(CApiTest, TupledArgumentsArePassedFlat) {
  wire::CompileOptions options;
  // Field 2 of XLA's proto, parameter_is_tupled_arguments, which ours does not have.
  ASSERT_TRUE(options.MergeFromString(std::string("\x10\x01", 2)));
  PJRT_LoadedExecutable* executable;
  ASSERT_EQ(TryCompile("add_one f32[3]", options, &executable), "");
  Destroy(executable);
}

TEST_F(CApiTest, LayoutsAreRowMajor) {
  auto* layouts = Find<PJRT_Layouts_Extension>(api_, PJRT_Extension_Type_Layouts);
  ASSERT_NE(layouts, nullptr);
  int64_t dims[] = {2, 3, 4};
  auto args = ARGS(Layouts_PJRT_Client_GetDefaultLayout);
  args.client = client_;
  args.type = PJRT_Buffer_Type_F32;
  args.dims = dims;
  args.num_dims = 3;
  ASSERT_EQ(Message(layouts->PJRT_Layouts_PJRT_Client_GetDefaultLayout(&args)), "");
  auto serialize = ARGS(Layouts_MemoryLayout_Serialize);
  serialize.layout = args.layout;
  ASSERT_EQ(Message(layouts->PJRT_Layouts_MemoryLayout_Serialize(&serialize)), "");
  EXPECT_EQ(std::string(serialize.serialized_bytes, serialize.serialized_bytes_size), "{2,1,0}");
  serialize.serialized_layout_deleter(serialize.serialized_layout);
  auto destroy = ARGS(Layouts_MemoryLayout_Destroy);
  destroy.layout = args.layout;
  EXPECT_EQ(Message(layouts->PJRT_Layouts_MemoryLayout_Destroy(&destroy)), "");
}

TEST_F(CApiTest, TheTracedTablePrintsEveryCallAndGivesTheSameAnswers) {
  const PJRT_Api* plain = api_;
  api_ = TracedApi(UntracedApi());
  ::testing::internal::CaptureStderr();
  PJRT_LoadedExecutable* executable = Compile("add_one f32[3]");
  PJRT_Buffer* x = Put({1, 2, 3});
  std::vector<PJRT_Buffer*> results;
  EXPECT_EQ(Execute(executable, {x}, &results), "");
  EXPECT_THAT(Get(results[0]), ElementsAre(2, 3, 4));
  EXPECT_NE(TryCompile("nonsense", {}, &executable), "");
  std::string trace = ::testing::internal::GetCapturedStderr();
  api_ = plain;
  EXPECT_THAT(trace, HasSubstr("Client.Compile(client#1, mlir program of 14 bytes, compile_options="));
  EXPECT_THAT(trace,
              HasSubstr("Client.BufferFromHostBuffer(client#1, f32[3], immutable only during call, device "
                        "cpu:0) -> buffer#1 f32[3], event#1"));
  EXPECT_THAT(
      trace, HasSubstr("LoadedExecutable.Execute(loaded#1 jit_add_one, buffer#1 f32[3]) -> buffer#2 f32[3]"));
  EXPECT_THAT(trace, HasSubstr("-> INVALID_ARGUMENT: no program: nonsense"));
  EXPECT_LT(trace.find("Client.Compile"), trace.find("LoadedExecutable.Execute"));
  for (PJRT_Buffer* buffer : {x, results[0]}) Destroy(buffer);
}

}  // namespace
}  // namespace shoal
