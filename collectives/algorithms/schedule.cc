#include "collectives/algorithms/schedule.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace shoal {
namespace {

std::string ToString(const Block& block) {
  if (block.buffer == kScratchBuffer) return absl::StrCat("scratch", block.slot, "[", block.first, "]");
  const std::string buffer = block.buffer == kInputBuffer    ? "in"
                             : block.buffer == kOutputBuffer ? "out"
                                                             : absl::StrCat("buffer", block.buffer);
  if (block.count == 1) return absl::StrCat(buffer, "[", block.first, "]");
  return absl::StrCat(buffer, "[", block.first, ":", block.first + block.count, "]");
}

std::string ToString(const Step& step) {
  switch (step.kind) {
    case StepKind::kSend:
      return absl::StrCat("send ", ToString(step.block), " to ", step.peer);
    case StepKind::kReceive:
      return absl::StrCat(ToString(step.block), " from ", step.peer);
    case StepKind::kReduce:
      return absl::StrCat(ToString(step.block), " = ",
                          absl::StrJoin(step.operands, " + ", [](std::string* out, const Operand& operand) {
                            absl::StrAppend(out, operand.peer >= 0 ? absl::StrCat("from ", operand.peer)
                                                                   : ToString(operand.own));
                          }));
  }
  return "";
}

}  // namespace

std::string ToString(const Schedule& schedule) {
  std::string text = absl::StrCat(schedule.algorithm, ": ", schedule.chunks, " chunks\n");
  for (size_t round = 0; round < schedule.rounds.size(); ++round) {
    absl::StrAppend(&text, round, ": ",
                    absl::StrJoin(schedule.rounds[round], "; ",
                                  [](std::string* out, const Step& step) { out->append(ToString(step)); }),
                    "\n");
  }
  return text;
}

Schedule SliceOf(Schedule schedule, int slice, int slices) {
  schedule.chunks *= slices;
  for (std::vector<Step>& round : schedule.rounds) {
    for (Step& step : round) {
      step.block.first = step.block.first * slices + slice;
      for (Operand& operand : step.operands) operand.own.first = operand.own.first * slices + slice;
    }
  }
  return schedule;
}

bool SendsOutput(const Schedule& schedule) {
  for (const std::vector<Step>& round : schedule.rounds) {
    for (const Step& step : round) {
      if (step.kind == StepKind::kSend && step.block.buffer == kOutputBuffer) return true;
    }
  }
  return false;
}

std::vector<int64_t> EvenChunks(int64_t elements, int chunks, int64_t align) {
  if (elements < int64_t{2} * align * chunks) align = 1;
  std::vector<int64_t> offsets(chunks + 1);
  const int64_t units = elements / align;
  for (int c = 0; c < chunks; ++c) {
    offsets[c] = (units / chunks * c + std::min<int64_t>(c, units % chunks)) * align;
  }
  offsets[chunks] = elements;
  return offsets;
}

}  // namespace shoal
