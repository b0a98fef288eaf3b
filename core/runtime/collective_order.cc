#include "core/runtime/collective_order.h"

#include <algorithm>
#include <vector>

#include "core/runtime/step.h"

namespace shoal {
namespace {

// One level of where a step is: the step's position in a plan.
struct Place {
  const Plan* plan;
  int step;
};

// From the outermost plan inwards; false, and an empty path, if the collective is not there.
bool FindPath(const Plan& plan, int64_t number, std::vector<Place>& path) {
  const auto& steps = plan.steps();
  for (size_t i = 0; i < steps.size(); ++i) {
    path.push_back({&plan, static_cast<int>(i)});
    const CollectiveOp* op = steps[i]->collective();
    if (op != nullptr && op->number == number) return true;
    for (const Plan* part : steps[i]->parts()) {
      if (FindPath(*part, number, path)) return true;
    }
    path.pop_back();
  }
  return false;
}

// Whether step `to` starts only once step `from` has ended. Steps wait for those before them only.
bool Follows(const Plan& plan, int from, int to) {
  std::vector<bool> after(plan.steps().size(), false);
  after[from] = true;
  for (int i = from; i < to; ++i) {
    if (!after[i]) continue;
    for (int next : plan.successors(i)) after[next] = true;
  }
  return after[to];
}

// In the step itself, or in one of its parts.
bool HasCollectives(const Step& step) {
  if (step.collective() != nullptr) return true;
  for (const Plan* part : step.parts()) {
    for (const auto& inner : part->steps()) {
      if (HasCollectives(*inner)) return true;
    }
  }
  return false;
}

}  // namespace

const CollectiveOp* FindCollective(const Plan& plan, int64_t number) {
  std::vector<Place> path;
  return FindPath(plan, number, path) ? path.back().plan->steps()[path.back().step]->collective() : nullptr;
}

bool NeverAtOnce(const Plan& plan, int64_t first, int64_t second) {
  std::vector<Place> a, b;
  if (!FindPath(plan, first, a) || !FindPath(plan, second, b)) return false;
  for (size_t level = 0; level < std::min(a.size(), b.size()); ++level) {
    // Parts of the same step, one of which runs at a time.
    if (a[level].plan != b[level].plan) return true;
    if (a[level].step == b[level].step) continue;
    return Follows(*a[level].plan, std::min(a[level].step, b[level].step),
                   std::max(a[level].step, b[level].step));
  }
  return true;  // the same one
}

bool MayPassOverCollectives(const Plan& plan) {
  return std::any_of(plan.steps().begin(), plan.steps().end(),
                     [](const auto& step) { return step->collective() == nullptr && HasCollectives(*step); });
}

}  // namespace shoal
