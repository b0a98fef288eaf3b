// Compile options and serialized executables between their protos' bytes and our values.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "plugin/client/client.h"

namespace shoal {

// InvalidArgument for bytes that do not parse, counts that do not fit and options that nobody knows. Where
// `serialized` assigns no devices and wants no portable program, the client's default assignment is taken;
// `client` may be null, then the assignment stays empty.
absl::StatusOr<CompileOptions> ParseCompileOptions(absl::string_view serialized, const PjRtClient* client);

// The devices as DeviceAssignmentProto; empty for none.
std::string SerializeDeviceAssignment(const CompileOptions& options);

// See SerializedExecutable in compile_options.proto: source, options, and native code; then a checksum.
std::string SerializeExecutable(const PjRtExecutable& executable);
// Compiles it again, as far as its code does not fit this machine. InvalidArgument for damaged bytes.
// `override_options` (serialized; may be empty) take the place of its own.
absl::StatusOr<std::shared_ptr<const PjRtExecutable>> DeserializeExecutable(
    absl::string_view serialized, absl::string_view override_options, const PjRtClient& client);

}  // namespace shoal
