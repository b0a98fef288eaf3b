#include "collectives/engine/diagnosis.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/process_name.h"
#include "core/base/status.h"

namespace shoal {
namespace {

std::string Seconds(absl::Duration time) {
  return absl::FormatDuration(absl::Floor(time, absl::Milliseconds(1)));
}

std::string NameOf(const Announcement& announcement) {
  return absl::StrCat("'", announcement.name, "' of run ", announcement.key.run.id);
}

}  // namespace

Diagnosis::Diagnosis(const Topology& topology)
    : topology_(topology), recorder_(topology), inquiries_(topology.process_count()) {}

std::string Diagnosis::NameOf(ProcessId process) const { return ProcessName(topology_, process); }

// ---- questions

bool Diagnosis::MayAsk(ProcessId process, absl::Time now) {
  Inquiry& inquiry = inquiries_[process.value()];
  if (inquiry.answered < inquiry.asked || now - inquiry.asked < kAsks) return false;
  inquiry.asked = now;
  return true;
}

void Diagnosis::Answered(ProcessId process, const std::string& doing, absl::Time now) {
  Inquiry& inquiry = inquiries_[process.value()];
  inquiry.answered = now;
  inquiry.doing = doing;
}

std::string Diagnosis::Doing(const Exchange* oldest, absl::Time now) const {
  if (oldest == nullptr) return absl::StrCat("is in no collective; ", recorder_.LastOwn(now));
  const std::vector<ProcessId> awaited = oldest->Awaited().processes;
  std::string doing = absl::StrCat("is in ", ::shoal::NameOf(oldest->announcement()), " for ",
                                   Seconds(now - oldest->start()));
  if (awaited.empty()) return doing;
  return absl::StrCat(
      doing, ", where it waits for process ",
      absl::StrJoin(awaited, ", ", [](std::string* out, ProcessId p) { absl::StrAppend(out, p.value()); }));
}

std::string Diagnosis::LastWord(ProcessId process, absl::Time now) const {
  const Inquiry& inquiry = inquiries_[process.value()];
  std::string word = absl::StrCat("process ", process.value(), " ", recorder_.LastHeard(process, now));
  if (inquiry.answered >= inquiry.asked && !inquiry.doing.empty()) {
    absl::StrAppend(&word, "; it answered ", Seconds(now - inquiry.answered), " ago that it ", inquiry.doing);
  } else if (inquiry.asked != absl::InfinitePast()) {
    absl::StrAppend(&word, "; it has not answered for ", Seconds(now - inquiry.asked),
                    ", so it is stopped (by a signal or a debugger), or its machine or link is overloaded");
  }
  return word;
}

// ---- messages

std::string Diagnosis::Here(const Exchange& exchange, absl::Time now) const {
  return absl::StrCat(NameOf(topology_.self), " was in ", ::shoal::NameOf(exchange.announcement()), " for ",
                      Seconds(now - exchange.start()));
}

absl::Status Diagnosis::Broken(const Exchange& exchange, const absl::Status& why,
                               absl::Span<const ProcessId> gone, absl::Time now) const {
  std::string message = absl::StrCat(why.message(), "; ", Here(exchange, now));
  for (ProcessId process : gone) {
    absl::StrAppend(&message, "; process ", process.value(), " ", recorder_.LastHeard(process, now));
  }
  return absl::Status(why.code(), message);
}

absl::Status Diagnosis::Missing(const Exchange& exchange, absl::Duration timeout, absl::Time now) const {
  using Awaited = Exchange::AwaitedPeers;
  const auto [awaited, what] = exchange.Awaited();
  const std::string names =
      absl::StrJoin(awaited, ", ", [this](std::string* out, ProcessId p) { out->append(NameOf(p)); });
  const std::string words = absl::StrJoin(
      awaited, "; ", [this, now](std::string* out, ProcessId p) { out->append(LastWord(p, now)); });
  const std::string where = ::shoal::NameOf(exchange.announcement());
  const std::string waited = absl::FormatDuration(timeout);
  if (what == Awaited::kToSend) {
    return absl::DeadlineExceededError(
        absl::StrCat(names, " came to ", where, " but has not sent its data within ", waited, "; ", words));
  }
  const std::string instead = what == Awaited::kToTake
                                  ? absl::StrCat(" has not taken what ", NameOf(topology_.self),
                                                 " sent it in ", where, " within ", waited)
                                  : absl::StrCat(" has not come to ", where, ", where ",
                                                 NameOf(topology_.self), " has waited for ", waited);
  return absl::DeadlineExceededError(
      absl::StrCat(names, instead, "; it may be busy elsewhere (SHOAL_TIMEOUT_S sets the limit); ", words));
}

absl::Status Diagnosis::Mismatch(const Announcement& ours, ProcessId from, const Announcement& theirs) const {
  const auto describe = [](const Announcement& a) {
    return absl::StrCat("'", a.name, "' (collective ", a.key.number, " of program ", absl::Hex(a.program),
                        ")");
  };
  const bool same_program = ours.program == theirs.program;
  return absl::FailedPreconditionError(
      absl::StrCat("processes disagree in run ", ours.key.run.id, ": ", NameOf(topology_.self), " is at ",
                   describe(ours), ", ", NameOf(from), " is at ", describe(theirs), "; ",
                   same_program ? "the same program must do the same collectives everywhere"
                                : "all processes must run the same program in the same order"));
}

absl::Status Diagnosis::OtherOrder(const Exchange& exchange, ProcessId from, const Answer& answer,
                                   absl::Time now) const {
  const Announcement& ours = exchange.announcement();
  return absl::FailedPreconditionError(
      absl::StrCat("processes run other programs, or the same ones in another order or with other shapes: ",
                   NameOf(topology_.self), " is in ", ::shoal::NameOf(ours), " for ",
                   Seconds(now - exchange.start()), ", where it waits for ", NameOf(from),
                   ", which has not been asked for that run; process ", from.value(), " ", answer.doing,
                   ", and process ", topology_.self.value(), " has not been asked for run ",
                   answer.waits_in.id, "; all processes must run the same programs in the same order"));
}

absl::Status Diagnosis::Diverged(const Exchange& exchange, ProcessId from, const Answer& answer,
                                 absl::Time now) const {
  return absl::FailedPreconditionError(
      absl::StrCat("processes disagree in run ", exchange.run().id, ": ", NameOf(topology_.self), " ",
                   Doing(&exchange, now), "; ", NameOf(from), " ",
                   answer.over ? absl::StrCat("has ended that run without it, and ", answer.doing)
                               : absl::StrCat(answer.doing, ", and comes to no other before"),
                   "; ", kWhyDiverged));
}

absl::Status Diagnosis::InARing(const Exchange& exchange, absl::Span<const Hindrance> ring,
                                absl::Time now) const {
  std::string message = absl::StrCat("processes disagree in run ", exchange.run().id, ": ",
                                     NameOf(topology_.self), " ", Doing(&exchange, now));
  for (const Hindrance& hindrance : ring.first(ring.size() - 1)) {
    absl::StrAppend(&message, "; ", NameOf(ProcessId(static_cast<int>(hindrance.awaited))), " ",
                    hindrance.doing);
  }
  return absl::FailedPreconditionError(
      absl::StrCat(message, "; each comes to no other before; ", kWhyDiverged));
}

absl::Status Diagnosis::AsToldToOthers(const absl::Status& why) const {
  for (absl::string_view name : {"process ", "processes "}) {
    if (absl::StartsWith(why.message(), name)) return why;
  }
  return Annotate(why, NameOf(topology_.self));
}

}  // namespace shoal
