#include "collectives/transport/bulk_list.h"

#include "absl/time/clock.h"

namespace shoal {
namespace {

// To cancel what is being sent may wait for its receiver: so long at most for all that is cancelled together,
// one at most so long after the other.
constexpr absl::Duration kPatience = absl::Seconds(1), kTogether = absl::Seconds(1);

}  // namespace

bool BulkList::End(FrameSink* sink, Test test, absl::FunctionRef<absl::Status()> error) {
  std::vector<void**> tested;
  for (Bulk& bulk : bulks_) {
    for (void*& request : bulk.requests) tested.push_back(&request);
  }
  std::vector<int> states(tested.size(), 0);
  if (!tested.empty()) test(tested, absl::MakeSpan(states));
  std::vector<Bulk> ended;
  size_t next = 0;
  for (Bulk& bulk : bulks_) {
    auto& requests = bulk.requests;
    size_t left = 0;
    for (void* request : requests) {
      const int state = states[next++];
      if (state < 0) bulk.status = error();
      if (state == 0) requests[left++] = request;
    }
    requests.resize(left);
    if (requests.empty()) ended.push_back(bulk);
  }
  // The sink may start others.
  std::erase_if(bulks_, [](const Bulk& bulk) { return bulk.requests.empty(); });
  for (const Bulk& bulk : ended) {
    if (bulk.sending) {
      sink->OnBulkSent(bulk.id, bulk.status);
    } else {
      sink->OnBulkReceived(bulk.peer, bulk.id, bulk.status);
    }
  }
  return !ended.empty();
}

void BulkList::Forget(bool sending, ProcessId peer, uint64_t id, Cancel cancel) {
  for (auto it = bulks_.begin(); it != bulks_.end(); ++it) {
    if (it->sending != sending || it->id != id || (!sending && it->peer != peer)) continue;
    CancelAll(&*it, cancel);
    bulks_.erase(it);
    return;
  }
}

void BulkList::ForgetAll(Cancel cancel) {
  for (Bulk& bulk : bulks_) CancelAll(&bulk, cancel);
  bulks_.clear();
}

// What is left of a bulk being sent when patience has ended stays the library's.
void BulkList::CancelAll(Bulk* bulk, Cancel cancel) {
  absl::Time now = absl::Now();
  if (now - last_cancel_ > kTogether) waited_ = absl::ZeroDuration();
  for (void*& request : bulk->requests) {
    if (bulk->sending && waited_ > kPatience) break;
    cancel(&request);
    waited_ += absl::Now() - now;
    now = absl::Now();
  }
  last_cancel_ = now;
}

}  // namespace shoal
