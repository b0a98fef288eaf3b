// What processes tell one another about collectives besides the data: the announcement that precedes a
// process's first message of a collective to a peer, the abort of a run, a question to one that lets others
// wait, its answer, with what it knows of such waits itself, and the goodbye. All are control frames of fixed
// fields in the machine's own byte order (all processes of a job run on one kind of machine), then text.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace shoal {

// One execution of a program by the devices of one communicator, as all its processes name it.
struct ProgramRun {
  uint64_t communicator = 0;  // a hash of the device assignment
  int64_t id = 0;             // the RunId
  friend bool operator==(const ProgramRun&, const ProgramRun&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ProgramRun& run) {
    return H::combine(std::move(h), run.communicator, run.id);
  }
};

// Which collective: what processes must agree on beforehand to find one another at all.
struct CollectiveKey {
  ProgramRun run;
  int64_t number = 0;    // of the operation in its program
  int64_t instance = 0;  // in loops
  int64_t group = 0;     // position among the operation's groups
  friend bool operator==(const CollectiveKey&, const CollectiveKey&) = default;
  // The same in every process; the `collective` of message tags. Never 0.
  uint64_t Hash() const;
  template <typename H>
  friend H AbslHashValue(H h, const CollectiveKey& key) {
    return H::combine(std::move(h), key.Hash());
  }
};

// What they must agree on, and are checked for.
struct Announcement {
  CollectiveKey key;
  uint64_t program = 0;    // fingerprint of the compiled program
  uint64_t operation = 0;  // fingerprint of kind, reduction, types, shapes, groups
  std::string name;        // for messages
};

struct AbortNotice {
  ProgramRun run;
  absl::Status why;
};

// "I wait for you in this collective. Where are you?"
struct Question {
  CollectiveKey key;
  uint64_t program = 0;  // the announcement's
};

struct Answer {
  Question question;
  bool expected = false;    // the run has been asked for here
  bool over = false;        // and has ended: nothing of it comes after this
  bool one_thread = false;  // all runs were asked for by one thread so far, so they have an order
  // Of the exchange that waits here longest, if any has waited for a while.
  bool waits = false;
  bool waits_for_you = false;
  ProgramRun waits_in;
  // Whether a participant here, which the asker waits for, is in another collective of that run that it must
  // end first, and in which; and whether that needs the asker.
  bool hindered = false, needs_you = false;
  CollectiveKey instead;
  // Of that one if there is one, else of the exchange that waits longest.
  std::string doing;  // "is in 'all-reduce f32[8]' of run 1 for 2s and waits for process 3"
};

// What a process has learnt by such an answer, for whoever asks it in turn: that `waits` is in a collective
// that does not end before `awaited` has ended another.
struct Hindrance {
  int64_t waits = 0;  // a process, like `awaited`
  CollectiveKey waits_in;
  int64_t awaited = 0;
  CollectiveKey instead;  // of the same run
  std::string doing;      // of the answer
};

// Nothing more comes from the sender: its program has ended, perhaps by the error `why`, or after a
// collective had failed because of another process, as `missed` says. Only one of them is sent.
struct Goodbye {
  std::string why;
  std::string missed;
};

std::vector<char> Encode(const Announcement& announcement);
std::vector<char> Encode(const AbortNotice& notice);
std::vector<char> Encode(const Question& question);
std::vector<char> Encode(const Answer& answer);
std::vector<char> Encode(const Hindrance& hindrance);
std::vector<char> Encode(const Goodbye& goodbye);
// False if the bytes are something else.
bool Decode(absl::Span<const char> bytes, Announcement* announcement);
bool Decode(absl::Span<const char> bytes, AbortNotice* notice);
bool Decode(absl::Span<const char> bytes, Question* question);
bool Decode(absl::Span<const char> bytes, Answer* answer);
bool Decode(absl::Span<const char> bytes, Hindrance* hindrance);
bool Decode(absl::Span<const char> bytes, Goodbye* goodbye);

}  // namespace shoal
