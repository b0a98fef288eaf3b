// partition_tool PROGRAM PARTITIONS [CHOOSE]: reads StableHLO (bytecode or text), propagates and partitions
// it and prints the local program as HLO text that XLA reads, after lines that say which part of each
// parameter and result each partition has:
//
//   # parameter f32[8,6] f32[4,6] 0,0 4,0
//   # result f32[] f32[] ;;
//
// CHOOSE=1: propagation may choose the shardings of parameters and results that have none. Test-only: the
// equality test (equals_unpartitioned_test.py) runs what this prints on jaxlib.
#include <fstream>
#include <iostream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status.h"
#include "core/hlo/printer.h"
#include "core/ops/verify.h"
#include "core/stablehlo/import.h"
#include "sharding/mesh/axes.h"
#include "sharding/mesh/devices.h"
#include "sharding/partition/partition.h"
#include "sharding/propagate/propagate.h"
#include "sharding/spec/layout.h"

namespace shoal {
namespace {

// Where the part of the partition at `position` begins, one a dimension.
std::vector<int64_t> OffsetsOf(const Mesh& mesh, const Shape& global, const Layout& layout,
                               int64_t position) {
  std::vector<int64_t> offsets;
  for (int64_t d = 0; d < global.rank(); ++d) {
    const AxisList& axes = layout.dims[d];
    offsets.push_back(Coordinate(mesh, position, axes) * LocalSize(global.dim(d), SizeOf(axes)));
  }
  return offsets;
}

void PrintParts(absl::string_view what, const Shape& global, const Sharding* sharding, int64_t partitions) {
  std::vector<std::string> parts;
  Shape local = global;
  for (int64_t p = 0; p < partitions; ++p) {
    std::vector<int64_t> offsets(global.rank(), 0);
    if (sharding != nullptr && sharding->mesh != nullptr && !sharding->mesh->axes.empty()) {
      const Layout layout = LayoutOf(*sharding, global.rank());
      local = LocalShape(global, layout);
      offsets = OffsetsOf(*sharding->mesh, global, layout, Positions(*sharding->mesh)[p]);
    }
    parts.push_back(absl::StrCat("[", absl::StrJoin(offsets, ","), "]"));
  }
  std::cout << "# " << what << " " << global << " " << local << " " << absl::StrJoin(parts, ";") << "\n";
}

absl::Status Run(const std::string& program, int64_t partitions, bool choose) {
  SHOAL_ASSIGN_OR_RETURN(std::unique_ptr<Module> module, ImportStableHlo(program));
  module->config().num_partitions = partitions;
  SHOAL_RETURN_IF_ERROR(Verify(*module));
  const std::vector<Shape> results = module->entry()->root()->shape().Leaves();
  std::vector<Shape> parameters;
  for (const Instruction* p : module->entry()->parameters()) parameters.push_back(p->shape());
  SHOAL_RETURN_IF_ERROR(PropagateShardings(*module, {{choose}, {choose}}));
  SHOAL_RETURN_IF_ERROR(Annotate(Verify(*module), "after propagation"));
  if (getenv("SHOW") != nullptr) std::cerr << ToText(*module) << "\n";
  SHOAL_RETURN_IF_ERROR(Partition(*module));
  SHOAL_RETURN_IF_ERROR(Annotate(Verify(*module), "after partitioning"));
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Instruction* p = module->entry()->parameter(static_cast<int64_t>(i));
    PrintParts("parameter", parameters[i], p->sharding(), partitions);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    // A program for one device keeps none.
    const std::vector<Sharding>& shardings = module->config().result_shardings;
    PrintParts("result", results[i], i < shardings.size() ? &shardings[i] : nullptr, partitions);
  }
  PrintOptions options;
  options.shardings = false;
  options.metadata = false;
  options.layouts = true;
  options.max_constant_elements = int64_t{1} << 20;
  std::cout << ToText(*module, options);
  return absl::OkStatus();
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  if (argc < 3) return std::cerr << "partition_tool PROGRAM PARTITIONS [CHOOSE]\n", 2;
  std::ifstream file(argv[1], std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  const absl::Status status = shoal::Run(bytes.str(), std::stoll(argv[2]), argc > 3 && argv[3][0] == '1');
  if (!status.ok()) return std::cerr << status << "\n", 1;
  return 0;
}
