// The engine's questions to those that an exchange waits for, its answers, and what follows from them.
#include <algorithm>

#include "collectives/engine/engine.h"

namespace shoal {

// A peer is asked once a while, so the exchanges that wait for it take turns.
void Engine::Ask(absl::Time now) {
  hindrances_.ForgetRuns([this](ProgramRun run) {
    return std::none_of(exchanges_.begin(), exchanges_.end(),
                        [run](const auto& exchange) { return exchange->run() == run; });
  });
  const size_t count = exchanges_.size(), first = next_asker_;
  for (size_t k = 0; k < count; ++k) {
    const size_t position = (first + k) % count;
    const Exchange& exchange = *exchanges_[position];
    if (now - exchange.start() < Diagnosis::kAsks) continue;
    for (ProcessId process : exchange.Awaited().processes) {
      if (!diagnosis_.MayAsk(process, now)) continue;
      const Announcement& ours = exchange.announcement();
      transport_.SendControl(process, Encode(Question{ours.key, ours.program}));
      next_asker_ = position + 1;
    }
  }
}

void Engine::OnQuestion(ProcessId from, const Question& question) {
  const absl::Time now = absl::Now();
  Answer answer{question};
  const ProgramRun run = question.key.run;
  const RunStage stage = StageOf(run);
  answer.expected = stage != RunStage::kNotAskedFor;
  answer.over = stage == RunStage::kOver;
  answer.one_thread = CallersHaveOrder();
  const Exchange* oldest = Oldest();
  answer.doing = diagnosis_.Doing(oldest, now);
  if (const auto [hindering, needs_you] = WhatHinders(from, question); hindering != nullptr) {
    answer.hindered = true;
    answer.needs_you = needs_you;
    answer.instead = hindering->announcement().key;
    answer.doing = diagnosis_.Doing(hindering, now);
  }
  NoteGatherings(question, &answer);
  if (oldest != nullptr && now - oldest->start() >= Diagnosis::kAsks) {
    const auto [awaited, what] = oldest->Awaited();
    answer.waits = what != Exchange::AwaitedPeers::kToTake;
    answer.waits_for_you = answer.waits && std::find(awaited.begin(), awaited.end(), from) != awaited.end();
    answer.waits_in = oldest->run();
  }
  transport_.SendControl(from, Encode(answer));
  for (const Hindrance& hindrance : hindrances_.Of(run)) transport_.SendControl(from, Encode(hindrance));
  CheckRings(run);
}

// Waits of participants of this process for one another are links of a ring too.
void Engine::NoteGatherings(const Question& question, Answer* answer) {
  if (!handlers_.gatherings) return;
  const int64_t self = topology_.self.value();
  for (const Gathering& gathering : handlers_.gatherings(question)) {
    for (const CollectiveKey& other : gathering.hinders) {
      if (other != question.key) {
        hindrances_.Add({self, other, self, gathering.key, gathering.doing});
      } else if (!answer->hindered) {
        answer->hindered = true;
        answer->instead = gathering.key;
        answer->doing = gathering.doing;
      }
    }
    for (const auto& exchange : exchanges_) {
      if (exchange->run() != question.key.run || !exchange->Precludes(gathering.key)) continue;
      hindrances_.Add({self, gathering.key, self, exchange->announcement().key,
                       diagnosis_.Doing(exchange.get(), absl::Now())});
    }
  }
}

// The exchange that keeps a participant here from what it is asked for: one that needs the asker, if there
// is.
std::pair<const Exchange*, bool> Engine::WhatHinders(ProcessId asker, const Question& question) const {
  const Exchange* any = nullptr;
  for (const auto& exchange : exchanges_) {
    if (exchange->run() != question.key.run || exchange->announcement().program != question.program) continue;
    if (!exchange->Precludes(question.key)) continue;
    if (exchange->Needs(asker)) return {exchange.get(), true};
    any = exchange.get();
  }
  return {any, false};
}

// `hindered`: when it answered, one of its participants that we wait for was in a collective that it must end
// first. If that needs one of ours, which must end the collective first in which it has been all the time,
// neither will ever end; else it may wait for others, who wait for us. `over`: whatever it had announced to
// us came before the answer, for frames keep their order. Where ours have ended the run too, its number is in
// use once more, and nothing is known.
void Engine::OnAnswer(ProcessId from, const Answer& answer) {
  const absl::Time now = absl::Now();
  diagnosis_.Answered(from, answer.doing, now);
  if (!answer.hindered && !answer.over) return CheckOrder(from, answer, now);
  const CollectiveKey& key = answer.question.key;
  if (answer.over && StageOf(key.run) == RunStage::kOver) return;
  for (const auto& exchange : exchanges_) {
    if (exchange->announcement().key != key) continue;
    if (exchange->Lingers()) return;
    if (answer.over ? exchange->Misses(from) : answer.needs_you && exchange->Precludes(answer.instead)) {
      return FailRun(key.run, diagnosis_.Diverged(*exchange, from, answer, now));
    }
    if (answer.over) return;
    hindrances_.Add({topology_.self.value(), key, from.value(), answer.instead, answer.doing});
    return CheckRings(key.run);
  }
}

// Of what this process waits for itself it knows best.
void Engine::OnHindrance(Hindrance hindrance) {
  const auto is_process = [this](int64_t p) { return p >= 0 && p < topology_.process_count(); };
  if (!is_process(hindrance.waits) || !is_process(hindrance.awaited)) return;
  if (hindrance.waits == topology_.self.value()) return;
  const ProgramRun run = hindrance.waits_in.run;
  hindrances_.Add(std::move(hindrance));
  CheckRings(run);
}

void Engine::CheckRings(ProgramRun run) {
  for (const auto& exchange : exchanges_) {
    if (exchange->run() != run || exchange->Lingers()) continue;
    const std::vector<Hindrance> ring =
        hindrances_.RingThrough(topology_.self.value(), exchange->announcement().key);
    if (!ring.empty()) return FailRun(run, diagnosis_.InARing(*exchange, ring, absl::Now()));
  }
}

// Whoever asks waits in a run that the other has not been asked for. If the other waits in one that was not
// asked for here, and both programs have one thread, which gives its runs an order, then the orders differ.
void Engine::CheckOrder(ProcessId from, const Answer& answer, absl::Time now) {
  const ProgramRun run = answer.question.key.run;
  const bool waits =
      answer.waits && (answer.waits_for_you || answer.waits_in.communicator == run.communicator);
  if (answer.expected || !waits || !answer.one_thread || !CallersHaveOrder() || !handlers_.stage_of) return;
  if (handlers_.stage_of(answer.waits_in) != RunStage::kNotAskedFor) return;
  for (const auto& exchange : exchanges_) {
    if (exchange->run() != run || exchange->Awaited().what == Exchange::AwaitedPeers::kToTake) continue;
    const absl::Status why = diagnosis_.OtherOrder(*exchange, from, answer, now);
    FailRun(run, why);
    return FailRun(answer.waits_in, why);
  }
}

}  // namespace shoal
