// One line an entry of the table: T(entry, inputs, outputs), what a trace line shows of its argument struct. F is a
// field as it is, S a string, B only the number of bytes, L a list, H a shape. An entry without a line does not
// compile. Sorted as entry_list.h.
#pragma once

#define SHOAL_TRACE_LIST(T)                                                                                            \
  T(Error_GetCode, , .F(code))                                                                                         \
  T(Plugin_Initialize, , )                                                                                             \
  T(Plugin_Attributes, , .F(num_attributes))                                                                           \
  T(Event_Destroy, .F(event), )                                                                                        \
  T(Event_IsReady, .F(event), .F(is_ready))                                                                            \
  T(Event_Error, .F(event), )                                                                                          \
  T(Event_Await, .F(event), )                                                                                          \
  T(Event_OnReady, .F(event), )                                                                                        \
  T(Client_Create, .F(num_options), .F(client))                                                                        \
  T(Client_Destroy, .F(client), )                                                                                      \
  T(Client_PlatformName, .F(client), .S(platform_name))                                                                \
  T(Client_ProcessIndex, .F(client), .F(process_index))                                                                \
  T(Client_PlatformVersion, .F(client), .S(platform_version))                                                          \
  T(Client_Devices, .F(client), .F(num_devices))                                                                       \
  T(Client_AddressableDevices, .F(client), .F(num_addressable_devices))                                                \
  T(Client_LookupDevice, .F(client).F(id), .F(device))                                                                 \
  T(Client_LookupAddressableDevice, .F(client).F(local_hardware_id), .F(addressable_device))                           \
  T(Client_AddressableMemories, .F(client), .F(num_addressable_memories))                                              \
  T(Client_Compile, .F(client).F(program).B(compile_options), .F(executable))                                          \
  T(Client_DefaultDeviceAssignment, .F(client).F(num_replicas).F(num_partitions), .L(default_assignment,               \
                                                                                      default_assignment_size))        \
  T(Client_BufferFromHostBuffer,                                                                                       \
    .F(client).H(type, dims, num_dims).L(byte_strides, num_byte_strides).F(host_buffer_semantics).F(device).F(memory), \
    .F(buffer).F(done_with_host_buffer))                                                                               \
  T(DeviceDescription_Id, .F(device_description), .F(id))                                                              \
  T(DeviceDescription_ProcessIndex, .F(device_description), .F(process_index))                                         \
  T(DeviceDescription_Attributes, .F(device_description), .F(num_attributes))                                          \
  T(DeviceDescription_Kind, .F(device_description), .S(device_kind))                                                   \
  T(DeviceDescription_DebugString, .F(device_description), .S(debug_string))                                           \
  T(DeviceDescription_ToString, .F(device_description), .S(to_string))                                                 \
  T(Device_GetDescription, .F(device), .F(device_description))                                                         \
  T(Device_IsAddressable, .F(device), .F(is_addressable))                                                              \
  T(Device_LocalHardwareId, .F(device), .F(local_hardware_id))                                                         \
  T(Device_AddressableMemories, .F(device), .F(num_memories))                                                          \
  T(Device_DefaultMemory, .F(device), .F(memory))                                                                      \
  T(Device_MemoryStats, .F(device), .F(bytes_in_use).F(peak_bytes_in_use).F(num_allocs).F(pool_bytes).F(bytes_limit))  \
  T(Memory_Id, .F(memory), .F(id))                                                                                     \
  T(Memory_Kind, .F(memory), .S(kind))                                                                                 \
  T(Memory_DebugString, .F(memory), .S(debug_string))                                                                  \
  T(Memory_ToString, .F(memory), .S(to_string))                                                                        \
  T(Memory_AddressableByDevices, .F(memory), .F(num_devices))                                                          \
  T(Executable_Destroy, .F(executable), )                                                                              \
  T(Executable_Name, .F(executable), .S(executable_name))                                                              \
  T(Executable_NumReplicas, .F(executable), .F(num_replicas))                                                          \
  T(Executable_NumPartitions, .F(executable), .F(num_partitions))                                                      \
  T(Executable_NumOutputs, .F(executable), .F(num_outputs))                                                            \
  T(Executable_SizeOfGeneratedCodeInBytes, .F(executable), .F(size_in_bytes))                                          \
  T(Executable_GetCostAnalysis, .F(executable), .F(num_properties))                                                    \
  T(Executable_OutputMemoryKinds, .F(executable), .F(num_outputs))                                                     \
  T(Executable_OptimizedProgram, .F(executable), .F(program))                                                          \
  T(Executable_Serialize, .F(executable), .B(serialized_bytes))                                                        \
  T(LoadedExecutable_Destroy, .F(executable), )                                                                        \
  T(LoadedExecutable_GetExecutable, .F(loaded_executable), .F(executable))                                             \
  T(LoadedExecutable_AddressableDevices, .F(executable), .F(num_addressable_devices))                                  \
  T(LoadedExecutable_Delete, .F(executable), )                                                                         \
  T(LoadedExecutable_IsDeleted, .F(executable), .F(is_deleted))                                                        \
  T(LoadedExecutable_Execute, .F(executable).Arguments(a).F(execute_device), .Results(a))                              \
  T(Executable_DeserializeAndLoad, .F(client).B(serialized_executable), .F(loaded_executable))                         \
  T(LoadedExecutable_Fingerprint, .F(executable), .S(executable_fingerprint))                                          \
  T(Buffer_Destroy, .F(buffer), )                                                                                      \
  T(Buffer_ElementType, .F(buffer), .F(type))                                                                          \
  T(Buffer_Dimensions, .F(buffer), .L(dims, num_dims))                                                                 \
  T(Buffer_UnpaddedDimensions, .F(buffer), .L(unpadded_dims, num_dims))                                                \
  T(Buffer_DynamicDimensionIndices, .F(buffer), .F(num_dynamic_dims))                                                  \
  T(Buffer_GetMemoryLayout, .F(buffer), )                                                                              \
  T(Buffer_OnDeviceSizeInBytes, .F(buffer), .F(on_device_size_in_bytes))                                               \
  T(Buffer_Device, .F(buffer), .F(device))                                                                             \
  T(Buffer_Memory, .F(buffer), .F(memory))                                                                             \
  T(Buffer_Delete, .F(buffer), )                                                                                       \
  T(Buffer_IsDeleted, .F(buffer), .F(is_deleted))                                                                      \
  T(Buffer_CopyToDevice, .F(buffer).F(dst_device), .F(dst_buffer))                                                     \
  T(Buffer_ToHostBuffer, .F(src).F(dst).F(dst_size), .F(event))                                                        \
  T(Buffer_IsOnCpu, .F(buffer), .F(is_on_cpu))                                                                         \
  T(Buffer_ReadyEvent, .F(buffer), .F(event))                                                                          \
  T(Buffer_UnsafePointer, .F(buffer), .F(buffer_pointer))                                                              \
  T(Buffer_IncreaseExternalReferenceCount, .F(buffer), )                                                               \
  T(Buffer_DecreaseExternalReferenceCount, .F(buffer), )                                                               \
  T(Buffer_OpaqueDeviceMemoryDataPointer, .F(buffer), .F(device_memory_ptr))                                           \
  T(CopyToDeviceStream_Destroy, .F(stream), )                                                                          \
  T(CopyToDeviceStream_AddChunk, .F(stream), .F(transfer_complete))                                                    \
  T(CopyToDeviceStream_TotalBytes, .F(stream), .F(total_bytes))                                                        \
  T(CopyToDeviceStream_GranuleSize, .F(stream), .F(granule_size_in_bytes))                                             \
  T(CopyToDeviceStream_CurrentBytes, .F(stream), .F(current_bytes))                                                    \
  T(TopologyDescription_Create, .S(topology_name).F(num_options), .F(topology))                                        \
  T(TopologyDescription_Destroy, .F(topology), )                                                                       \
  T(TopologyDescription_PlatformName, .F(topology), .S(platform_name))                                                 \
  T(TopologyDescription_PlatformVersion, .F(topology), .S(platform_version))                                           \
  T(TopologyDescription_GetDeviceDescriptions, .F(topology), .F(num_descriptions))                                     \
  T(TopologyDescription_Serialize, .F(topology), .B(serialized_bytes))                                                 \
  T(TopologyDescription_Attributes, .F(topology), .F(num_attributes))                                                  \
  T(Compile, .F(topology).F(program).B(compile_options).F(client), .F(executable))                                     \
  T(Executable_OutputElementTypes, .F(executable), .L(output_types, num_output_types))                                 \
  T(Executable_OutputDimensions, .F(executable), .F(num_outputs))                                                      \
  T(Buffer_CopyToMemory, .F(buffer).F(dst_memory), .F(dst_buffer))                                                     \
  T(Client_CreateViewOfDeviceBuffer, .F(client).F(device_buffer_ptr).H(element_type, dims, num_dims).F(device),        \
    .F(buffer))                                                                                                        \
  T(Executable_Fingerprint, .F(executable), .S(executable_fingerprint))                                                \
  T(Client_TopologyDescription, .F(client), .F(topology))                                                              \
  T(Executable_GetCompiledMemoryStats, .F(executable),                                                                 \
    .F(generated_code_size_in_bytes).F(argument_size_in_bytes).F(output_size_in_bytes).F(alias_size_in_bytes)          \
    .F(temp_size_in_bytes))                                                                                            \
  T(Memory_Kind_Id, .F(memory), .F(kind_id))                                                                           \
  T(ExecuteContext_Create, , .F(context))                                                                              \
  T(ExecuteContext_Destroy, .F(context), )                                                                             \
  T(Buffer_CopyRawToHost, .F(buffer).F(dst).F(offset).F(transfer_size), .F(event))                                     \
  T(AsyncHostToDeviceTransferManager_Destroy, .F(transfer_manager), )                                                  \
  T(AsyncHostToDeviceTransferManager_TransferData,                                                                     \
    .F(transfer_manager).F(buffer_index).F(offset).F(transfer_size).F(is_last_transfer), .F(done_with_h2d_transfer))   \
  T(Client_CreateBuffersForAsyncHostToDevice, .F(client).F(num_shape_specs).F(memory), .F(transfer_manager))           \
  T(AsyncHostToDeviceTransferManager_RetrieveBuffer, .F(transfer_manager).F(buffer_index), .F(buffer_out))             \
  T(AsyncHostToDeviceTransferManager_Device, .F(transfer_manager), .F(device_out))                                     \
  T(AsyncHostToDeviceTransferManager_BufferCount, .F(transfer_manager), .F(buffer_count))                              \
  T(AsyncHostToDeviceTransferManager_BufferSize, .F(transfer_manager).F(buffer_index), .F(buffer_size))                \
  T(AsyncHostToDeviceTransferManager_SetBufferError,                                                                   \
    .F(transfer_manager).F(buffer_index).F(error_code).S(error_message), )                                             \
  T(AsyncHostToDeviceTransferManager_AddMetadata, .F(transfer_manager).F(num_metadata), )                              \
  T(Client_DmaMap, .F(client).F(data).F(size), )                                                                       \
  T(Client_DmaUnmap, .F(client).F(data), )                                                                             \
  T(Client_CreateUninitializedBuffer, .F(client).H(shape_element_type, shape_dims, shape_num_dims).F(device),          \
    .F(buffer))                                                                                                        \
  T(Client_UpdateGlobalProcessInfo, .F(client).F(num_process_infos), )                                                 \
  T(TopologyDescription_Deserialize, .B(serialized_topology), .F(topology))                                            \
  T(Client_CreateAliasBuffer, .F(client).H(shape_element_type, shape_dims, shape_num_dims), .F(alias_buffer))             \
  T(Client_FulfillAliasBuffer, .F(client).F(buffer).F(status_code), )                                                  \
  T(LoadedExecutable_GetDeviceAssignment, .F(executable), .B(serialized_bytes))                                        \
  T(Client_CreateErrorBuffer,                                                                                          \
    .F(client).F(error_code).S(error_message).H(shape_element_type, shape_dims, shape_num_dims).F(memory), .F(buffer)) \
  T(AsyncHostToDeviceTransferManager_TransferLiteral,                                                                  \
    .F(transfer_manager).F(buffer_index).H(shape_element_type, shape_dims, shape_num_dims),                            \
    .F(done_with_h2d_transfer))                                                                                        \
  T(Buffer_CopyRawToHostFuture, .F(buffer).F(offset).F(transfer_size), .F(event))                                      \
  T(Device_PoisonExecution, .F(device).F(launch_id).F(error_code).S(error_message), .F(poisoned))                      \
  T(Device_CreateAsyncTrackingEvent, .F(device).S(description), )                                                      \
  T(AsyncTrackingEvent_Destroy, , )                                                                                    \
  T(Executable_GetCompileOptions, .F(executable), .B(serialized_bytes))                                                \
  T(Buffer_DonateWithControlDependency, .F(buffer), .F(out_buffer))                                                    \
  T(Event_Create, , .F(event))                                                                                         \
  T(Event_Set, .F(event).F(error_code).S(error_message), )                                                             \
  T(Device_GetAttributes, .F(device), .F(num_attributes))                                                              \
  T(Client_Load, .F(client).F(executable), .F(loaded_executable))                                                      \
  T(LoadedExecutable_AddressableDeviceLogicalIds, .F(executable), .F(num_addressable_device_logical_ids))              \
  T(Buffer_Bitcast, .F(buffer).H(element_type, dims, num_dims), .F(out_buffer))                                        \
  T(Error_ForEachPayload, , )                                                                                          \
  T(TopologyDescription_Fingerprint, .F(topology), .F(fingerprint))                                                    \
  T(Executable_ParameterMemoryKinds, .F(executable), .F(num_parameters))                                               \
  T(Device_ClearMemoryStats, .F(device), )                                                                             \
  T(TopologyDescription_MakeCanonicalShapeForMemorySpace, .F(topology).F(memory_space_kind_id), )                      \
  T(TopologyDescription_GetMemorySpaceKindIds, .F(topology), .F(num_memory_space_kind_ids))
