#include "collectives/transport/bulk_list.h"

#include <algorithm>
#include <utility>

namespace shoal {

bool BulkList::End(FrameSink* sink, Test test, absl::FunctionRef<absl::Status()> error) {
  std::vector<Bulk> ended;
  for (Bulk& bulk : bulks_) {
    auto& requests = bulk.requests;
    requests.erase(std::remove_if(requests.begin(), requests.end(),
                                  [&](void*& request) {
                                    const int state = test(&request);
                                    if (state < 0) bulk.status = error();
                                    return state != 0;
                                  }),
                   requests.end());
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
    for (void*& request : it->requests) cancel(&request);
    bulks_.erase(it);
    return;
  }
}

void BulkList::ForgetAll(Cancel cancel) {
  for (Bulk& bulk : bulks_) {
    for (void*& request : bulk.requests) cancel(&request);
  }
  bulks_.clear();
}

}  // namespace shoal
