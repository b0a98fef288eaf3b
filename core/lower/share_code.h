// CompileTogether: the processes of a job that compile the same program each compile a part of its kernels
// and hand them to the others through the job's key-value store, so that n of them take about an nth of the
// time.
//
// A help that nobody depends on: what a process does not get in about the time that its compiling would take,
// or gets from another build or for another CPU, it compiles by itself. Codes stay in the store until the job
// ends. Thread-safe; may wait, so not for arena workers.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/base/key_value_store.h"

namespace shoal {

class KernelCache;
struct KernelRequest;

// The processes that compile a program, and which of them this one is.
struct CodePeers {
  KeyValueStore* store = nullptr;  // null: there are no others
  int self = 0;
  int count = 1;
};

// Puts into `cache` as many of the requests as the peers have to give. `program` is a number that the program
// has in all of them. An error is one of compiling.
absl::Status CompileTogether(absl::Span<const KernelRequest> requests, uint64_t program,
                             const CodePeers& peers, KernelCache& cache);

}  // namespace shoal
