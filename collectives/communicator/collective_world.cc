#include "collectives/communicator/collective_world.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "collectives/algorithms/select.h"
#include "collectives/algorithms/table.h"
#include "collectives/communicator/wired_world.h"
#include "collectives/transport/mpi.h"
#include "collectives/transport/mpi_wire.h"
#include "collectives/transport/shm_wire.h"
#include "collectives/transport/ucx_wire.h"
#include "core/base/flags.h"
#include "core/base/log.h"
#include "core/base/status.h"

namespace shoal {
namespace {

// The same answer in every process: loading MPI is collective.
bool AllShareMemory(const Topology& topology, const CollectiveOptions& options) {
  for (int p = 0; p < topology.process_count(); ++p) {
    if (!options.shared_memory || !topology.SameHost(ProcessId(p), ProcessId(0))) return false;
  }
  return true;
}

// The same kind in every process: what MPI says of itself does not differ among processes of one
// installation.
absl::StatusOr<std::unique_ptr<Wire>> NetworkWire(const Topology& topology, KeyValueStore* store,
                                                  const CollectiveOptions& options) {
  if (options.transport == "mpi") return MpiWire::Create(topology, store, options.timeout);
  if (options.transport == "ucx" || !Mpi::HasLauncher()) {
    return UcxWire::Create(topology, store, options.timeout);
  }
  const absl::Status mpi = MpiWire::CheckUsable(topology);
  if (mpi.ok()) return MpiWire::Create(topology, store, options.timeout);
  SHOAL_LOG_AT(1) << "UCX instead of MPI: " << mpi.message();
  absl::StatusOr<std::unique_ptr<Wire>> ucx = UcxWire::Create(topology, store, options.timeout);
  if (!ucx.ok())
    return Annotate(ucx.status(), absl::StrCat("MPI cannot be used (", mpi.message(), "), nor UCX"));
  return ucx;
}

bool HasNeighbour(const Topology& topology) {
  for (int p = 0; p < topology.process_count(); ++p) {
    if (ProcessId(p) != topology.self && topology.SameHost(ProcessId(p), topology.self)) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<CollectiveOptions> CollectiveOptions::FromFlags() {
  CollectiveOptions options;
  SHOAL_ASSIGN_OR_RETURN(const int64_t seconds, IntFlag("SHOAL_TIMEOUT_S"));
  if (seconds <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("SHOAL_TIMEOUT_S is ", seconds, "; it must be at least 1"));
  }
  options.timeout = absl::Seconds(seconds);
  SHOAL_ASSIGN_OR_RETURN(options.shared_memory, BoolFlag("SHOAL_SHM"));
  SHOAL_ASSIGN_OR_RETURN(options.transport, StringFlag("SHOAL_TRANSPORT"));
  if (options.transport != "auto" && options.transport != "mpi" && options.transport != "ucx") {
    return absl::InvalidArgumentError(
        absl::StrCat("SHOAL_TRANSPORT=", options.transport, ": it can be auto, mpi or ucx"));
  }
  SHOAL_ASSIGN_OR_RETURN(options.deterministic, BoolFlag("SHOAL_DETERMINISTIC"));
  SHOAL_ASSIGN_OR_RETURN(options.algorithms, StringFlag("SHOAL_ALGORITHMS"));
  SHOAL_RETURN_IF_ERROR(CheckAlgorithms(options.algorithms));
  SHOAL_ASSIGN_OR_RETURN(const std::string tuning, StringFlag("SHOAL_TUNING"));
  if (!tuning.empty()) {
    SHOAL_ASSIGN_OR_RETURN(AlgorithmTable table, AlgorithmTable::Load(tuning));
    options.table = std::make_shared<const AlgorithmTable>(std::move(table));
  }
  return options;
}

absl::StatusOr<std::unique_ptr<CollectiveWorld>> CollectiveWorld::Create(const Topology& topology,
                                                                         KeyValueStore* store,
                                                                         const CollectiveOptions& options) {
  std::vector<std::unique_ptr<Wire>> wires;
  Doorbell* doorbell = nullptr;
  if (topology.process_count() <= 1)
    return std::make_unique<WiredWorld>(topology, std::move(wires), doorbell, options);
  if (options.shared_memory && HasNeighbour(topology)) {
    SHOAL_ASSIGN_OR_RETURN(std::unique_ptr<ShmWire> wire, ShmWire::Create(topology, store, options.timeout));
    doorbell = wire->doorbell();
    wires.push_back(std::move(wire));
  }
  if (!AllShareMemory(topology, options)) {
    absl::StatusOr<std::unique_ptr<Wire>> wire = NetworkWire(topology, store, options);
    if (!wire.ok()) {
      return Annotate(wire.status(), options.shared_memory
                                         ? "collectives between hosts need MPI or UCX"
                                         : "SHOAL_SHM=0 leaves only MPI or UCX between processes");
    }
    wires.push_back(*std::move(wire));
  }
  return std::make_unique<WiredWorld>(topology, std::move(wires), doorbell, options);
}

}  // namespace shoal
