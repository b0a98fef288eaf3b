#include "collectives/transport/mpi.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <future>
#include <system_error>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "collectives/transport/module.h"
#include "collectives/transport/mpi_module/mpi_module.h"
#include "core/base/flags.h"
#include "core/base/log.h"
#include "core/base/status.h"

namespace shoal {
namespace {

#ifndef SHOAL_MPI_MODULE_BUILD_PATH
#define SHOAL_MPI_MODULE_BUILD_PATH ""
#endif

std::atomic<bool> finalizes{false}, do_not_finalize{false};
std::chrono::seconds finalize_limit;  // set when MPI is loaded

// Finalising waits for the peers, who may be busy for long after we are done; so we wait as long as for any
// collective, and then leave all the same.
void FinalizeAtExit(int exit_status, void* table) {
  if (exit_status != 0 || do_not_finalize.load()) return;
  auto finalized = std::make_shared<std::promise<void>>();
  std::thread([finalized, table] {
    static_cast<const ShoalMpiTable*>(table)->finalize();
    finalized->set_value();
  }).detach();
  if (finalized->get_future().wait_for(finalize_limit) != std::future_status::ready) {
    SHOAL_WARN << "MPI_Finalize has not returned within " << finalize_limit.count()
               << " s; leaving without it";
  }
}

absl::Status MpiError(const ShoalMpiTable* table, absl::string_view what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", table->last_error()));
}

// The family that the launcher serves, by the protocol that it speaks with its processes; empty where that is
// PMIx, which serves every MPI, or there is no launcher.
absl::string_view LaunchersFamily() {
  if (getenv("OMPI_COMM_WORLD_SIZE") != nullptr) return "Open MPI";
  return getenv("PMI_RANK") != nullptr && getenv("PMIX_RANK") == nullptr ? "MPICH" : "";
}

// Another family's MPI would start and take each process for a job of its own, or end it.
absl::Status CheckFamily(const ShoalMpiTable& table) {
  const absl::string_view launcher = LaunchersFamily();
  if (launcher.empty() || launcher == table.family) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("libshoal_mpi.so is built for ", table.family, ", this job was started by a launcher for ",
                   launcher, "; to use that between hosts, build Shoal where mpicc is ", launcher, "'s"));
}

// Opens a directory and locks it as `how` says, unless somebody has removed it meanwhile; -1 if that fails.
int OpenLocked(const std::string& directory, int how) {
  const int file = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return -1;
  struct stat opened, named;
  if (flock(file, how) == 0 && fstat(file, &opened) == 0 && stat(directory.c_str(), &named) == 0 &&
      opened.st_ino == named.st_ino) {
    return file;
  }
  close(file);
  return -1;
}

std::string DirectoryPrefix() { return absl::StrCat("shoal-mpi-", getuid(), "-"); }

// Removes the directories of all networks that no process uses, with what killed processes have left there.
void RemoveUnusedDirectories(int, void* own_lock) {
  if (own_lock != nullptr) close(*static_cast<int*>(own_lock));
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", error)) {
    if (!absl::StartsWith(entry.path().filename().string(), DirectoryPrefix())) continue;
    const int lock = OpenLocked(entry.path(), LOCK_EX | LOCK_NB);
    if (lock < 0) continue;
    std::error_code ignored;
    std::filesystem::remove_all(entry.path(), ignored);
    close(lock);
  }
}

// Open MPI names its shared-memory files by host name and local rank alone, so that hosts of one name which
// share /dev/shm (containers, network namespaces) would take each other's and crash. A directory for each
// network keeps them apart. Who uses it holds a lock on it; the last one removes it.
void KeepHostsApart() {
  struct stat network;
  if (stat("/proc/self/ns/net", &network) != 0) return;
  RemoveUnusedDirectories(0, nullptr);
  const std::string directory = absl::StrCat("/dev/shm/", DirectoryPrefix(), network.st_ino);
  static int lock = -1;
  // Another process may just be removing it.
  for (int attempt = 0; attempt < 100 && lock < 0; ++attempt) {
    if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return;
    lock = OpenLocked(directory, LOCK_SH);
  }
  if (lock < 0) return;
  on_exit(RemoveUnusedDirectories, &lock);
  setenv("OMPI_MCA_btl_vader_backing_directory", directory.c_str(), /*overwrite=*/0);
}

}  // namespace

bool Mpi::HasLauncher() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"}) {
    if (getenv(name) != nullptr) return true;
  }
  return false;
}

absl::StatusOr<Mpi*> Mpi::Load() {
  static const absl::StatusOr<Mpi*>* const loaded = new absl::StatusOr<Mpi*>(LoadOnce());
  return *loaded;
}

absl::StatusOr<Mpi*> Mpi::LoadOnce() {
  SHOAL_ASSIGN_OR_RETURN(const int64_t seconds, IntFlag("SHOAL_TIMEOUT_S"));
  finalize_limit = std::chrono::seconds(seconds);
  SHOAL_ASSIGN_OR_RETURN(const ShoalMpiTable* table,
                         ModuleTable<ShoalMpiTable>("MPI", "libshoal_mpi.so", SHOAL_MPI_MODULE_BUILD_PATH,
                                                    "ShoalMpiModule", kShoalMpiVersion));
  SHOAL_RETURN_IF_ERROR(CheckFamily(*table));
  Mpi* mpi = new Mpi(table);
  int started_here = 0;
  KeepHostsApart();
  if (table->init(&mpi->rank_, &mpi->size_, &started_here) < 0) return MpiError(table, "MPI cannot start");
  if (started_here != 0) {
    on_exit(FinalizeAtExit, const_cast<ShoalMpiTable*>(table));
    finalizes = true;
  }
  SHOAL_LOG_AT(1) << "MPI: rank " << mpi->rank_ << " of " << mpi->size_
                  << (started_here != 0 ? ", started here" : ", started by somebody else");
  return mpi;
}

absl::StatusOr<std::vector<std::string>> Mpi::AllGather(absl::string_view mine) const {
  const int64_t own_size = static_cast<int64_t>(mine.size());
  std::vector<int64_t> sizes(size_);
  if (table_->all_gather(&own_size, sizes.data(), sizeof(own_size)) < 0)
    return MpiError(table_, "all-gather");
  const int64_t largest = *std::max_element(sizes.begin(), sizes.end());
  std::string padded(mine), all(largest * size_, '\0');
  padded.resize(largest);
  if (largest > 0 && table_->all_gather(padded.data(), all.data(), static_cast<int>(largest)) < 0) {
    return MpiError(table_, "all-gather");
  }
  std::vector<std::string> result;
  for (int r = 0; r < size_; ++r) result.push_back(all.substr(r * largest, sizes[r]));
  return result;
}

void Mpi::DoNotFinalize() { do_not_finalize = true; }

bool Mpi::FinalizesAtExit() { return finalizes && !do_not_finalize; }

}  // namespace shoal
