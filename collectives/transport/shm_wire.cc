#include "collectives/transport/shm_wire.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "collectives/transport/shm_ring.h"
#include "core/base/log.h"
#include "core/base/process_name.h"
#include "core/base/status.h"
#include "core/memory/shared_pages.h"

namespace shoal {
namespace {

constexpr uint64_t kMagic = 0x73686f616c303033;  // "shoal003"
// Bulks that one process may have announced at a time; more wait for room.
constexpr uint64_t kLiveBulks = 4096;
// All rings of a segment together, and the bounds of one.
constexpr int64_t kRingsBytes = 8 << 20, kSmallestRing = 64 << 10, kLargestRing = 256 << 10;

int64_t RingBytes(int peers) {
  int64_t bytes = kLargestRing;
  while (bytes > kSmallestRing && bytes * peers > kRingsBytes) bytes /= 2;
  return bytes;
}

std::string StoreKey(const Topology& topology, ProcessId process) {
  return absl::StrCat("shoal/", topology.job, "/shm/", process.value());
}

}  // namespace

// What a process shares: this, then a ring from every process of the host, in their order (its own stays
// empty).
struct ShmWire::Segment {
  uint64_t magic;
  uint64_t nonce;
  alignas(64) Doorbell doorbell;
  // live[id % kLiveBulks] == id while the owner's memory of that bulk may be read. A reader that finds it so
  // after its copy knows that the copy is good: the owner clears it before it gives the memory away.
  alignas(64) std::atomic<uint64_t> live[kLiveBulks];

  ShmRing* ring(int index, int64_t ring_bytes) {
    return reinterpret_cast<ShmRing*>(reinterpret_cast<char*>(this + 1) +
                                      index * ShmRing::BytesFor(ring_bytes));
  }
};

struct ShmWire::Peer {
  ~Peer() {
    if (segment != nullptr) munmap(segment, bytes);
    if (arrays != nullptr) munmap(const_cast<char*>(arrays), arrays_size);
    if (pid_fd >= 0) close(pid_fd);
  }
  ProcessId process;
  int pid = 0;
  int pid_fd = -1;  // readable once the process has ended
  bool lost = false;
  bool to_knock = false;
  bool can_pull = false;
  Segment* segment = nullptr;
  int64_t bytes = 0;
  // Its shared pages: where they are here, if mapped, and there.
  const char* arrays = nullptr;
  uint64_t arrays_base = 0;
  int64_t arrays_size = 0;
  ShmRing* to = nullptr;    // in its segment
  uint64_t to_head = 0;     // how far the peer is known to have read it
  ShmRing* from = nullptr;  // in ours
};

ShmWire::ShmWire(const Topology& topology, int segment_fd, Segment* own, int64_t segment_bytes)
    : topology_(topology),
      segment_fd_(segment_fd),
      own_(own),
      segment_bytes_(segment_bytes),
      by_process_(topology.process_count(), nullptr) {}

ShmWire::~ShmWire() {
  munmap(own_, segment_bytes_);
  close(segment_fd_);
}

Doorbell* ShmWire::doorbell() const { return &own_->doorbell; }

absl::StatusOr<std::unique_ptr<ShmWire>> ShmWire::Create(const Topology& topology, KeyValueStore* store,
                                                         absl::Duration timeout, bool single_copy) {
  std::vector<ProcessId> local;
  for (int p = 0; p < topology.process_count(); ++p) {
    if (topology.SameHost(ProcessId(p), topology.self)) local.push_back(ProcessId(p));
  }
  const int64_t ring_bytes = RingBytes(static_cast<int>(local.size()));
  const int64_t bytes = sizeof(Segment) + ShmRing::BytesFor(ring_bytes) * local.size();
  const int fd = memfd_create(absl::StrCat("shoal:", topology.job).c_str(), MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, bytes) != 0) {
    const std::string cause = strerror(errno);
    if (fd >= 0) close(fd);
    return absl::UnavailableError(absl::StrCat("no shared memory of ", bytes, " bytes: ", cause));
  }
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    close(fd);
    return absl::UnavailableError(absl::StrCat("cannot map shared memory: ", strerror(errno)));
  }
  auto* own = static_cast<Segment*>(memory);
  own->magic = kMagic;
  own->nonce = std::random_device()() | uint64_t{std::random_device()()} << 32;
  std::unique_ptr<ShmWire> wire(new ShmWire(topology, fd, own, bytes));
  wire->ring_bytes_ = ring_bytes;
  wire->capabilities_ = {"shared memory", ring_bytes / 16, /*bulk_channel=*/false, /*rings=*/true};
  // Where Yama guards ptrace (and with it single-copy reads), siblings need this to be let in.
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  std::string told =
      absl::StrCat(getpid(), " ", fd, " ", own->nonce, " ", reinterpret_cast<uint64_t>(&own->nonce));
  const SharedPages* arrays = single_copy ? SharedPages::Enable(static_cast<int>(local.size())) : nullptr;
  if (arrays != nullptr) {
    absl::StrAppend(&told, " ", arrays->fd(), " ", reinterpret_cast<uint64_t>(arrays->base()), " ",
                    arrays->size());
  }
  SHOAL_RETURN_IF_ERROR(store->Set(StoreKey(topology, topology.self), told));
  for (ProcessId peer : local) {
    if (peer != topology.self) SHOAL_RETURN_IF_ERROR(wire->Connect(peer, store, timeout, single_copy));
  }
  // Each ring lies at its writer's position among the processes of the host.
  const auto position = [&](ProcessId p) {
    return static_cast<int>(std::find(local.begin(), local.end(), p) - local.begin());
  };
  for (const auto& peer : wire->peers_) {
    peer->from = own->ring(position(peer->process), ring_bytes);
    peer->to = peer->segment->ring(position(topology.self), ring_bytes);
  }
  return wire;
}

absl::Status ShmWire::Connect(ProcessId process, KeyValueStore* store, absl::Duration timeout,
                              bool single_copy) {
  SHOAL_ASSIGN_OR_RETURN(const std::string text, store->Get(StoreKey(topology_, process), timeout));
  const std::vector<std::string> words = absl::StrSplit(text, ' ');
  auto peer = std::make_unique<Peer>();
  peer->process = process;
  int fd = -1;
  uint64_t nonce = 0, address = 0;
  if (words.size() < 4 || !absl::SimpleAtoi(words[0], &peer->pid) || !absl::SimpleAtoi(words[1], &fd) ||
      !absl::SimpleAtoi(words[2], &nonce) || !absl::SimpleAtoi(words[3], &address)) {
    return absl::InternalError(
        absl::StrCat("the store holds no segment of ", ProcessName(topology_, process), ": ", text));
  }
  const auto fail = [&](absl::string_view what) {
    return absl::UnavailableError(absl::StrCat("shared memory of ", ProcessName(topology_, process), ": ",
                                               what, "; SHOAL_SHM=0 does without shared memory"));
  };
  const int opened = open(absl::StrCat("/proc/", peer->pid, "/fd/", fd).c_str(), O_RDWR | O_CLOEXEC);
  if (opened < 0) return fail(absl::StrCat("cannot open it: ", strerror(errno)));
  void* memory = mmap(nullptr, segment_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
  const bool right_size = lseek(opened, 0, SEEK_END) == segment_bytes_;
  close(opened);
  if (memory == MAP_FAILED) return fail(absl::StrCat("cannot map it: ", strerror(errno)));
  peer->segment = static_cast<Segment*>(memory);
  peer->bytes = segment_bytes_;
  if (!right_size || peer->segment->magic != kMagic || peer->segment->nonce != nonce) {
    return fail("its pid belongs to another process here");
  }
  peer->pid_fd = static_cast<int>(syscall(SYS_pidfd_open, peer->pid, 0));
  uint64_t seen = 0;
  const iovec here{&seen, sizeof(seen)}, there{reinterpret_cast<void*>(address), sizeof(seen)};
  peer->can_pull =
      single_copy && process_vm_readv(peer->pid, &here, 1, &there, 1, 0) == sizeof(seen) && seen == nonce;
  if (peer->can_pull) MapArrays(words, peer.get());
  SHOAL_LOG_AT(1) << "shared memory with " << ProcessName(topology_, process)
                  << (peer->arrays != nullptr ? ", arrays mapped"
                      : peer->can_pull        ? ", single copy"
                                              : ", two copies");
  by_process_[process.value()] = peer.get();
  peers_.push_back(std::move(peer));
  return absl::OkStatus();
}

// Without them its arrays are read by system calls.
void ShmWire::MapArrays(absl::Span<const std::string> words, Peer* peer) const {
  int fd = -1;
  if (words.size() != 7 || !absl::SimpleAtoi(words[4], &fd) ||
      !absl::SimpleAtoi(words[5], &peer->arrays_base) || !absl::SimpleAtoi(words[6], &peer->arrays_size)) {
    return;
  }
  const int opened = open(absl::StrCat("/proc/", peer->pid, "/fd/", fd).c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) return;
  if (lseek(opened, 0, SEEK_END) == peer->arrays_size)
    peer->arrays = MapSharedPages(opened, peer->arrays_size);
  close(opened);
}

ShmWire::Peer* ShmWire::PeerOf(ProcessId peer) const { return by_process_[peer.value()]; }

bool ShmWire::Reaches(ProcessId peer) const { return PeerOf(peer) != nullptr; }

bool ShmWire::CanPull(ProcessId from) const { return PeerOf(from)->can_pull; }

bool ShmWire::TrySend(ProcessId to, const FrameHeader& header, absl::Span<const char> payload) {
  Peer* peer = PeerOf(to);
  if (peer->lost) return true;
  if (header.kind == FrameKind::kBulk) {
    std::atomic<uint64_t>& live = own_->live[header.bulk_id % kLiveBulks];
    const uint64_t now = live.load(std::memory_order_relaxed);
    if (now != 0 && now != header.bulk_id) return false;
    live.store(header.bulk_id, std::memory_order_release);
  }
  if (!peer->to->TryWrite(ring_bytes_, header, payload, &peer->to_head)) return false;
  if (header.kind == FrameKind::kControl) {
    peer->segment->doorbell.Ring();
  } else if (!std::exchange(peer->to_knock, true)) {
    to_knock_.push_back(peer);
  }
  return true;
}

// One fence for all: it waits until the other cores have given up the lines that the frames went to.
void ShmWire::Knock() {
  if (to_knock_.empty()) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (Peer* peer : to_knock_) {
    peer->to_knock = false;
    peer->segment->doorbell.Knock();
  }
  to_knock_.clear();
}

void ShmWire::Retire(uint64_t bulk_id) {
  uint64_t expected = bulk_id;
  own_->live[bulk_id % kLiveBulks].compare_exchange_strong(expected, 0, std::memory_order_seq_cst);
}

bool ShmWire::Poll(FrameSink* sink) {
  for (const auto& peer : peers_) peer->from->FetchTail();
  bool any = false, worked = false;
  for (const auto& peer : peers_) any = peer->from->FetchNext(ring_bytes_) || any;
  if (!any) return false;
  for (const auto& peer : peers_) {
    while (peer->from->Read(ring_bytes_, [&](const FrameHeader& header, absl::Span<const char> payload) {
      sink->OnFrame(peer->process, header, payload);
    })) {
      worked = true;
    }
  }
  return worked;
}

void ShmWire::FindLostPeers(FrameSink* sink) {
  for (const auto& peer : peers_) {
    if (peer->lost || peer->pid_fd < 0) continue;
    pollfd ended{peer->pid_fd, POLLIN, 0};
    if (poll(&ended, 1, 0) != 1) continue;
    sink->OnPeerLost(peer->process, absl::UnavailableError(
                                        absl::StrCat(ProcessName(topology_, peer->process), " has ended")));
    peer->lost = true;
  }
}

const char* ShmWire::Mapped(ProcessId from, const FrameHeader& bulk) const {
  const Peer* peer = PeerOf(from);
  const uint64_t offset = bulk.bulk_address - peer->arrays_base, size = peer->arrays_size;
  const bool inside =
      bulk.bulk_address >= peer->arrays_base && offset < size && bulk.bulk_size <= size - offset;
  return peer->arrays != nullptr && inside ? peer->arrays + offset : nullptr;
}

absl::Status ShmWire::StillOffered(ProcessId from, const FrameHeader& bulk) const {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const Segment* segment = PeerOf(from)->segment;
  if (segment->live[bulk.bulk_id % kLiveBulks].load(std::memory_order_seq_cst) == bulk.bulk_id)
    return absl::OkStatus();
  return absl::AbortedError(absl::StrCat(ProcessName(topology_, from), " has given up this collective"));
}

absl::Status ShmWire::Pull(ProcessId from, const FrameHeader& bulk, int64_t offset, absl::Span<char> into) {
  const Peer* peer = PeerOf(from);
  if (const char* mapped = Mapped(from, bulk); mapped != nullptr) {
    std::memcpy(into.data(), mapped + offset, into.size());
    return StillOffered(from, bulk);
  }
  size_t done = 0;
  while (done < into.size()) {
    const iovec here{into.data() + done, into.size() - done};
    const iovec there{reinterpret_cast<void*>(bulk.bulk_address + offset + done), into.size() - done};
    const ssize_t n = process_vm_readv(peer->pid, &here, 1, &there, 1, 0);
    if (n > 0) {
      done += n;
    } else if (n == 0 || errno != EINTR) {
      return absl::UnavailableError(absl::StrCat("cannot read the memory of ", ProcessName(topology_, from),
                                                 ": ", n == 0 ? "nothing there" : strerror(errno)));
    }
  }
  return StillOffered(from, bulk);
}

}  // namespace shoal
