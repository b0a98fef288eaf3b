// Mpi: the job's MPI, loaded when somebody needs it. The plugin does not link MPI: libshoal_mpi.so does
// (mpi_module/), is found beside the plugin or in the build tree, and is opened with RTLD_LOCAL. Used by
// launcher to find the other processes, and by mpi_wire.
//
// Lives with mpi4py or any other user of MPI in the process, whoever comes first. Only what was started here
// is finalised, when the process exits with success; if a peer is known to be lost, or the exit is a failure,
// it is not, because finalising waits for everybody. Thread-safe after Load.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct ShoalMpiTable;

namespace shoal {

class Mpi {
 public:
  // The one of this process, never destroyed. The first call is collective over all processes of
  // MPI_COMM_WORLD and may start MPI. Unavailable if there is no MPI or no module built for it,
  // FailedPrecondition if it is built for an MPI that this job's launcher does not know.
  static absl::StatusOr<Mpi*> Load();

  // Whether a launcher that speaks MPI's protocols has started this process; started otherwise, MPI would
  // know of this process alone. Loads nothing.
  static bool HasLauncher();

  int rank() const { return rank_; }
  int size() const { return size_; }
  // Everybody's bytes, by rank. Collective, blocks.
  absl::StatusOr<std::vector<std::string>> AllGather(absl::string_view mine) const;

  // A peer is gone: do not wait for it at exit.
  static void DoNotFinalize();
  // Whether the end of this process will wait for all others'.
  static bool FinalizesAtExit();

  const ShoalMpiTable& table() const { return *table_; }

 private:
  explicit Mpi(const ShoalMpiTable* table) : table_(table) {}
  static absl::StatusOr<Mpi*> LoadOnce();

  const ShoalMpiTable* const table_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace shoal
