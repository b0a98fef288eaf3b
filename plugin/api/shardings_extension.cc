// The shardings extension: how a compiled program wants its parameters and gives its results.
#include "plugin/api/handles.h"
#include "xla/pjrt/c/pjrt_c_api_shardings_extension.h"

namespace shoal {
namespace {

// Without partitions there are no shardings to tell; null says so.
template <typename Args>
void Lend(const PJRT_Executable& executable, const PJRT_Executable::Strings& shardings, Args& args) {
  const bool partitioned = executable.executable->options.num_partitions > 1;
  args.shardings = partitioned ? shardings.data.data() : nullptr;
  args.sharding_sizes = partitioned ? shardings.sizes.data() : nullptr;
}

PJRT_Error* ParameterShardings(PJRT_Shardings_PJRT_Executable_ParameterShardings_Args* args) {
  args->num_parameters = args->executable->parameter_shardings.data.size();
  Lend(*args->executable, args->executable->parameter_shardings, *args);
  return nullptr;
}

PJRT_Error* OutputShardings(PJRT_Shardings_PJRT_Executable_OutputShardings_Args* args) {
  args->num_outputs = args->executable->output_shardings.data.size();
  Lend(*args->executable, args->executable->output_shardings, *args);
  return nullptr;
}

}  // namespace

PJRT_Extension_Base* ShardingsExtension(PJRT_Extension_Base* next) {
  static PJRT_Shardings_Extension extension = {
      .base = {.struct_size = PJRT_Shardings_Extension_STRUCT_SIZE,
               .type = PJRT_Extension_Type_Shardings,
               .next = next},
      .PJRT_Shardings_PJRT_Executable_ParameterShardings = ParameterShardings,
      .PJRT_Shardings_PJRT_Executable_OutputShardings = OutputShardings,
  };
  return &extension.base;
}

}  // namespace shoal
