// Schedules of deterministic mode, and of narrow floats on one host (reduction_plan.cc): every device's data
// goes unreduced to the process that owns a chunk, and is reduced there in the order of the devices' ranks.
// So the bits do not depend on which process hosts which device.
//
// Buffer kFirstOwnBuffer + k is the data of this process's k-th member. Pure.
#pragma once

#include <vector>

#include "collectives/algorithms/schedule.h"

namespace shoal {

// `process_of[r]` is the process rank that hosts rank r of the group. Chunk j belongs to process j.
Schedule OrderedReduceScatterSchedule(const std::vector<int>& process_of, int self);
Schedule OrderedAllReduceSchedule(const std::vector<int>& process_of, int self);

}  // namespace shoal
