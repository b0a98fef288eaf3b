// Diagnosis: what this process knows of its peers when an exchange does not go on, and the messages that say
// it: who is awaited, since when, where it was seen last, and what it answers when it is asked.
//
// Belongs to the owner of progress; not thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "collectives/engine/exchange.h"
#include "collectives/engine/flight_recorder.h"
#include "collectives/engine/wire_format.h"
#include "core/base/topology.h"

namespace shoal {

// How devices come to wait for each other in one run.
inline constexpr absl::string_view kWhyDiverged =
    "a branch, or the length of a loop, differs between devices that must do the same collectives";

class Diagnosis {
 public:
  // Exchanges that wait for longer ask.
  static constexpr absl::Duration kAsks = absl::Seconds(1);

  explicit Diagnosis(const Topology& topology);

  FlightRecorder& recorder() { return recorder_; }
  std::string NameOf(ProcessId process) const;

  // Whether to ask `process` now, which is noted: not again before it has answered and a while has passed.
  bool MayAsk(ProcessId process, absl::Time now);
  void Answered(ProcessId process, const std::string& doing, absl::Time now);
  // What this process is doing, as it answers: it waits for `oldest`, or, if that is null, for none.
  std::string Doing(const Exchange* oldest, absl::Time now) const;

  // Unavailable and the like: `why` is what went wrong with a peer, `gone` are those of the exchange's
  // processes that are lost.
  absl::Status Broken(const Exchange& exchange, const absl::Status& why, absl::Span<const ProcessId> gone,
                      absl::Time now) const;
  // DeadlineExceeded: peers are alive, but have not come or not sent.
  absl::Status Missing(const Exchange& exchange, absl::Duration timeout, absl::Time now) const;
  // FailedPrecondition: a peer means another operation.
  absl::Status Mismatch(const Announcement& ours, ProcessId from, const Announcement& theirs) const;
  // FailedPrecondition: a peer waits in a run that this process has not been asked for, and the other way
  // round.
  absl::Status OtherOrder(const Exchange& exchange, ProcessId from, const Answer& answer,
                          absl::Time now) const;
  // FailedPrecondition: participants here and there wait for each other in different collectives of one run,
  // or those there have ended it.
  absl::Status Diverged(const Exchange& exchange, ProcessId from, const Answer& answer, absl::Time now) const;
  // FailedPrecondition: the processes of the ring, which this one is in by the exchange, wait for each other.
  absl::Status InARing(const Exchange& exchange, absl::Span<const Hindrance> ring, absl::Time now) const;
  // A failure as the other processes hear of it: with this one's name in front, unless processes are what it
  // tells of anyway.
  absl::Status AsToldToOthers(const absl::Status& why) const;

 private:
  struct Inquiry {
    absl::Time asked = absl::InfinitePast();
    absl::Time answered = absl::InfinitePast();
    std::string doing;
  };
  std::string Here(const Exchange& exchange, absl::Time now) const;
  std::string LastWord(ProcessId process, absl::Time now) const;

  const Topology topology_;
  FlightRecorder recorder_;
  std::vector<Inquiry> inquiries_;  // by process
};

}  // namespace shoal
