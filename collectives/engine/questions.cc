// The engine's questions to those that an exchange waits for, its answers, and what follows from them.
#include <algorithm>

#include "collectives/engine/engine.h"

namespace shoal {

// A peer is asked once a while, so the exchanges that wait for it take turns.
void Engine::Ask(absl::Time now) {
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
  for (const auto& exchange : exchanges_) {
    const Announcement& ours = exchange->announcement();
    if (exchange->run() != run || ours.program != question.program) continue;
    answer.diverged = exchange->Needs(from) && exchange->Precludes(question.key);
    if (!answer.diverged) continue;
    answer.instead = ours.key;
    answer.doing = diagnosis_.Doing(exchange.get(), now);
    break;
  }
  if (oldest != nullptr && now - oldest->start() >= Diagnosis::kAsks) {
    const std::vector<ProcessId> awaited = oldest->Awaited().processes;
    answer.waits = !awaited.empty();
    answer.waits_for_you = std::find(awaited.begin(), awaited.end(), from) != awaited.end();
    answer.waits_in = oldest->run();
  }
  transport_.SendControl(from, Encode(answer));
}

// `diverged`: when it answered, one of its participants that we wait for was in a collective that needs us,
// and that it must end first. If one of ours that it waits for must end the collective first in which it has
// been all the time, neither will ever end. `over`: whatever it had announced to us came before the answer,
// for frames keep their order. Where ours have ended the run too, its number is in use once more, and nothing
// is known.
void Engine::OnAnswer(ProcessId from, const Answer& answer) {
  const absl::Time now = absl::Now();
  diagnosis_.Answered(from, answer.doing, now);
  if (!answer.diverged && !answer.over) return CheckOrder(from, answer, now);
  if (answer.over && StageOf(answer.question.key.run) == RunStage::kOver) return;
  for (const auto& exchange : exchanges_) {
    if (exchange->announcement().key != answer.question.key) continue;
    if (exchange->Lingers()) return;
    if (answer.over ? !exchange->Misses(from) : !exchange->Precludes(answer.instead)) return;
    return FailRun(exchange->run(), diagnosis_.Diverged(*exchange, from, answer, now));
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
    if (exchange->run() != run) continue;
    const absl::Status why = diagnosis_.OtherOrder(*exchange, from, answer, now);
    FailRun(run, why);
    return FailRun(answer.waits_in, why);
  }
}

}  // namespace shoal
