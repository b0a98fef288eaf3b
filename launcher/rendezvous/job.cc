#include "launcher/rendezvous/job.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "collectives/transport/mpi.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "launcher/cluster/binding.h"
#include "launcher/health/health_watch.h"
#include "launcher/rendezvous/agreement.h"
#include "launcher/rendezvous/host_identity.h"
#include "launcher/rendezvous/introduction.h"
#include "launcher/rendezvous/pmi_share.h"
#include "launcher/store/host_file.h"
#include "launcher/store/tcp_server.h"
#include "launcher/store/tcp_store.h"

namespace shoal {
namespace {

// Death is to be noticed within two seconds; looking costs a few system calls a process.
constexpr absl::Duration kLookOnHost = absl::Milliseconds(200);
constexpr absl::Duration kAskServer = absl::Milliseconds(500);
// A process of the same number that is still ending gets this long.
constexpr absl::Duration kEnter = absl::Seconds(10);
constexpr absl::string_view kWatchKey = "watch";

class SingleJob : public Job {
 public:
  explicit SingleJob(int num_devices) {
    topology_.processes.push_back({HostId(0), HostName(), getpid(), num_devices, DeviceId(0)});
    topology_.job = absl::StrCat("single-", getpid());
  }
  const Topology& topology() const override { return topology_; }
  KeyValueStore* store() override { return nullptr; }
  void WatchHealth(std::function<void(ProcessId, absl::Status)>) override {}

 private:
  Topology topology_;
};

// Members are destroyed in the reverse of the order in which they were made: watch, attendance, store,
// server.
class SharedJob : public Job {
 public:
  static absl::StatusOr<std::unique_ptr<Job>> Join(const Place& place, const JobOptions& options,
                                                   int generation);

  const Topology& topology() const override { return topology_; }
  KeyValueStore* store() override { return store_; }
  absl::StatusOr<absl::Duration> ClockLead() override {
    if (topology_.SameHost(topology_.self, ProcessId(0))) return absl::ZeroDuration();
    return tcp_store_->ClockLead();  // there is one where hosts are several
  }
  void WatchHealth(std::function<void(ProcessId, absl::Status)> on_failure) override {
    watch_.reset();
    if (on_failure == nullptr) return;
    watch_ = std::make_unique<HealthWatch>(topology_, attendance_.get(), interval_, std::move(on_failure));
  }

 private:
  // Why this process could not be introduced to the others.
  absl::Status Explain(const absl::Status& why) const;
  absl::Status OpenStore(const Place& place, const JobOptions& options, int generation);
  absl::Status OpenTcpStore(const Place& place, const std::string& coordinator, int generation,
                            const std::string& name, absl::Duration timeout);
  absl::Status Attend(absl::Duration timeout);
  absl::Status AttendThroughServer(absl::Duration timeout);

  Topology topology_;
  std::unique_ptr<HostFile> host_file_;
  std::unique_ptr<TcpServer> server_;
  std::string announced_;  // where the others look for server_; empty where it tells them itself
  std::unique_ptr<TcpStore> tcp_store_;
  std::unique_ptr<KeyValueStore> own_store_;
  KeyValueStore* store_ = nullptr;
  std::unique_ptr<Attendance> attendance_;
  absl::Duration interval_ = kLookOnHost;
  std::unique_ptr<HealthWatch> watch_;
};

// A store whose keys all begin with this client's number, for the caller's store lives longer than one
// client.
class PrefixedStore : public KeyValueStore {
 public:
  PrefixedStore(KeyValueStore* store, std::string prefix) : store_(store), prefix_(std::move(prefix)) {}
  absl::Status Set(absl::string_view key, absl::string_view value) override {
    return store_->Set(absl::StrCat(prefix_, key), value);
  }
  absl::StatusOr<std::string> Get(absl::string_view key, absl::Duration timeout) override {
    return store_->Get(absl::StrCat(prefix_, key), timeout);
  }
  absl::StatusOr<std::string> TryGet(absl::string_view key) override {
    return store_->TryGet(absl::StrCat(prefix_, key));
  }

 private:
  KeyValueStore* const store_;
  const std::string prefix_;
};

// Where process 0 listens. Collective over all processes; this is the one place where joining a job starts
// MPI.
absl::StatusOr<std::vector<std::string>> AddressesThroughMpi(const Place& place, int port) {
  const absl::StatusOr<Mpi*> mpi = Mpi::Load();
  if (!mpi.ok()) {
    return absl::Status(
        mpi.status().code(),
        absl::StrCat(place.cluster->environment,
                     " started processes on several hosts, and process 0 cannot tell its address "
                     "through MPI (",
                     mpi.status().message(), "); set SHOAL_COORDINATOR=HOST:PORT, the same for all"));
  }
  if ((*mpi)->rank() != place.process.value() || (*mpi)->size() != place.process_count) {
    return absl::InvalidArgumentError(
        absl::StrCat(place.cluster->environment, " says that this is process ", place.process.value(), " of ",
                     place.process_count, ", but MPI says ", (*mpi)->rank(), " of ", (*mpi)->size()));
  }
  SHOAL_ASSIGN_OR_RETURN(const std::vector<std::string> all,
                         (*mpi)->AllGather(port == 0 ? "" : absl::StrJoin(LocalAddresses(port), ",")));
  return std::vector<std::string>(absl::StrSplit(all[0], ','));
}

// The same, without MPI where the launcher passes texts on itself.
absl::StatusOr<std::vector<std::string>> AddressesThroughLauncher(const Place& place, int port,
                                                                  int generation, absl::Duration timeout) {
  if (place.cluster->pmi_file < 0) return AddressesThroughMpi(place, port);
  const absl::StatusOr<std::string> addresses =
      PmiShare(place.cluster->pmi_file, place.process.value(), absl::StrCat("shoal-", generation),
               port == 0 ? "" : absl::StrJoin(LocalAddresses(port), ","), timeout);
  if (!addresses.ok()) return Annotate(addresses.status(), "process 0 cannot tell its address");
  return std::vector<std::string>(absl::StrSplit(*addresses, ','));
}

bool OneHost(const Topology& topology) {
  return std::all_of(topology.processes.begin(), topology.processes.end(),
                     [&](const ProcessInfo& process) { return process.host == topology.processes[0].host; });
}

// Process 0 serves; the others learn its address from the caller, from SHOAL_COORDINATOR, from Slurm, or else
// through MPI.
absl::Status SharedJob::OpenTcpStore(const Place& place, const std::string& coordinator, int generation,
                                     const std::string& name, absl::Duration timeout) {
  std::vector<std::string> addresses = {coordinator};
  if (place.process == ProcessId(0)) {
    int port = 0;
    if (!coordinator.empty()) {
      SHOAL_ASSIGN_OR_RETURN(port, PortOf(coordinator));
    }
    SHOAL_ASSIGN_OR_RETURN(server_, TcpServer::Start(name, port));
    announced_ = coordinator;
    addresses = {absl::StrCat("127.0.0.1:", server_->port())};
  }
  if (coordinator.empty()) {
    const int port = server_ == nullptr ? 0 : server_->port();
    SHOAL_ASSIGN_OR_RETURN(const std::vector<std::string> found,
                           AddressesThroughLauncher(place, port, generation, timeout));
    if (server_ == nullptr) addresses = found;
  }
  SHOAL_ASSIGN_OR_RETURN(tcp_store_, TcpStore::Connect(addresses, name, timeout));
  store_ = tcp_store_.get();
  return absl::OkStatus();
}

absl::Status SharedJob::OpenStore(const Place& place, const JobOptions& options, int generation) {
  if (options.store != nullptr) {
    own_store_ = std::make_unique<PrefixedStore>(options.store, absl::StrCat("client", generation, "/"));
    store_ = own_store_.get();
    return absl::OkStatus();
  }
  if (!place.cluster) {
    return OpenTcpStore(place, options.coordinator, generation,
                        absl::StrCat(options.coordinator, "-", generation), options.join_timeout);
  }
  const std::string name = absl::StrCat(place.cluster->job, "-", generation);
  if (place.cluster->one_host()) {
    SHOAL_ASSIGN_OR_RETURN(host_file_, HostFile::Enter(name, place.process, place.process_count, kEnter));
    store_ = host_file_->store();
    return absl::OkStatus();
  }
  return OpenTcpStore(place, place.cluster->coordinator, generation, name, options.join_timeout);
}

// With the caller's store, process 0 starts a server for the watch alone, and tells its address through that
// store.
absl::Status SharedJob::AttendThroughServer(absl::Duration timeout) {
  interval_ = kAskServer;
  const bool leads = topology_.self == ProcessId(0);
  if (tcp_store_ == nullptr && leads) {
    SHOAL_ASSIGN_OR_RETURN(server_, TcpServer::Start(topology_.job, 0));
    SHOAL_RETURN_IF_ERROR(store_->Set(kWatchKey, absl::StrJoin(LocalAddresses(server_->port()), ",")));
    SHOAL_ASSIGN_OR_RETURN(
        tcp_store_, TcpStore::Connect({absl::StrCat("127.0.0.1:", server_->port())}, topology_.job, timeout));
  } else if (tcp_store_ == nullptr) {
    SHOAL_ASSIGN_OR_RETURN(const std::string addresses, store_->Get(kWatchKey, timeout));
    SHOAL_ASSIGN_OR_RETURN(tcp_store_,
                           TcpStore::Connect(absl::StrSplit(addresses, ','), topology_.job, timeout));
  }
  SHOAL_ASSIGN_OR_RETURN(attendance_, AttendServer(tcp_store_.get(), topology_.self));
  return absl::OkStatus();
}

absl::Status SharedJob::Attend(absl::Duration timeout) {
  if (!OneHost(topology_)) return AttendThroughServer(timeout);
  if (host_file_ == nullptr) {
    SHOAL_ASSIGN_OR_RETURN(host_file_,
                           HostFile::Enter(topology_.job, topology_.self, topology_.process_count(), kEnter));
  }
  attendance_ = AttendHost(host_file_.get(), topology_.process_count());
  return absl::OkStatus();
}

absl::Status SharedJob::Explain(const absl::Status& why) const {
  if (!absl::IsDeadlineExceeded(why) || announced_.empty() || IsAddressHere(announced_)) return why;
  return absl::DeadlineExceededError(absl::StrCat(why.message(), "; they look for process 0 at ", announced_,
                                                  ", which is no address of this machine, ", HostName()));
}

absl::StatusOr<std::unique_ptr<Job>> SharedJob::Join(const Place& place, const JobOptions& options,
                                                     int generation) {
  auto job = std::make_unique<SharedJob>();
  SHOAL_RETURN_IF_ERROR(job->OpenStore(place, options, generation));
  const Introduction mine = Introduction::OfThisProcess(options.num_devices, place.process_count);
  absl::StatusOr<Topology> topology = Introduce(*job->store_, place.process, mine, options.join_timeout);
  if (!topology.ok()) return job->Explain(topology.status());
  job->topology_ = *std::move(topology);
  SHOAL_RETURN_IF_ERROR(job->Attend(options.join_timeout));
  SHOAL_LOG_AT(1) << "joined " << job->topology_.job << ": process " << place.process << " of "
                  << place.process_count << ", " << job->topology_.device_count() << " devices, "
                  << (OneHost(job->topology_) ? "one host" : "several hosts");
  return absl::StatusOr<std::unique_ptr<Job>>(std::move(job));
}

// Also where nothing asks for it yet: who has misspelt it would start processes that are each alone.
absl::Status CheckCoordinator() {
  const std::optional<std::string> coordinator = ProcessEnvironment()("SHOAL_COORDINATOR");
  if (!coordinator) return absl::OkStatus();
  return Annotate(PortOf(*coordinator).status(), "SHOAL_COORDINATOR");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Job>> Job::Join(const JobOptions& options) {
  if (options.num_devices < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a process needs at least 1 device, not ", options.num_devices, " (SHOAL_NUM_DEVICES)"));
  }
  SHOAL_ASSIGN_OR_RETURN(const std::optional<Cluster> cluster, FindCluster(ProcessEnvironment()));
  SHOAL_RETURN_IF_ERROR(CheckCoordinator());
  SHOAL_ASSIGN_OR_RETURN(const Place place, Agree(options, cluster));
  if (cluster) {
    const std::string binding = BindingWarning(*cluster, CoreCounts::OfThisProcess());
    if (!binding.empty()) {
      SHOAL_WARN << binding;
    }
  }
  if (place.process_count == 1) {
    if (!cluster && !options.process_count && ProcessEnvironment()("SHOAL_COORDINATOR")) {
      SHOAL_WARN << "SHOAL_COORDINATOR is set, but neither SHOAL_NUM_PROCESSES nor a launcher says that "
                    "there are other processes: this one is alone";
    }
    return std::make_unique<SingleJob>(options.num_devices);
  }
  SetLogProcess(place.process.value());
  // The clients of one process after another must not meet each other's keys; all processes count alike.
  static std::atomic<int> joins{0};
  return SharedJob::Join(place, options, joins++);
}

}  // namespace shoal
