#include "sharding/reshard/plan.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <tuple>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "sharding/mesh/axes.h"
#include "sharding/reshard/coarsen.h"
#include "sharding/reshard/cost.h"

namespace shoal {
namespace {

// What a local copy costs as a step.
constexpr double kSliceCost = 16;
// Layouts looked at before the search gives up and gathers.
constexpr int kMaxVisits = 4000;

class Search {
 public:
  Search(const Shape& shape, const CoarseLayouts& layouts)
      : shape_(shape), from_(layouts.from), to_(layouts.to), free_(layouts.free) {}

  ReshardPlan Run() {
    Push(from_, 0, -1, {});
    while (!queue_.empty() && visits_++ < kMaxVisits) {
      const int node = queue_.top().second;
      queue_.pop();
      if (nodes_[node].done) continue;
      nodes_[node].done = true;
      if (nodes_[node].layout == to_) return PlanTo(node);
      Expand(node);
    }
    return Gathering();
  }

  double Bytes(const Layout& layout) const {
    return static_cast<double>(LocalShape(shape_, layout).ByteSize());
  }

 private:
  struct Node {
    Layout layout;
    double cost;
    int before;
    ReshardStep step;
    bool done = false;
  };

  void Push(Layout layout, double cost, int before, ReshardStep step) {
    if (const auto it = best_.find(layout); it != best_.end() && it->second <= cost) return;
    best_[layout] = cost;
    step.after = layout;
    nodes_.push_back(Node{std::move(layout), cost, before, std::move(step)});
    queue_.emplace(cost, static_cast<int>(nodes_.size()) - 1);
  }

  void Expand(int node) {
    const Layout layout = nodes_[node].layout;
    for (int d = 0; d < static_cast<int>(layout.dims.size()); ++d) {
      Slices(node, layout, d);
      Gathers(node, layout, d);
      ReduceScatters(node, layout, d);
    }
    AllReduce(node, layout);
    if (layout.partial == to_.partial) Permute(node, layout);
  }

  // Where the target has an atom: its dimension, or -1.
  int TargetDim(const AxisRef& atom) const {
    for (size_t d = 0; d < to_.dims.size(); ++d) {
      if (Contains(to_.dims[d], atom)) return static_cast<int>(d);
    }
    return -1;
  }

  // Atoms that the target wants on `d` and nobody uses yet.
  void Slices(int node, const Layout& layout, int d) {
    const AxisList used = Concat(layout.Used(), layout.partial);
    for (const AxisRef& atom : to_.dims[d]) {
      if (Overlaps(used, atom)) continue;
      if (!SplitAligns(shape_.dim(d), SizeOf(layout.dims[d]), atom.size)) continue;
      Layout after = layout;
      after.dims[d].push_back(atom);
      const double cost = nodes_[node].cost + kSliceCost;
      Push(std::move(after), cost, node, {ReshardStepKind::kSlice, {atom}, d});
    }
  }

  void Gathers(int node, const Layout& layout, int d) {
    const AxisList& axes = layout.dims[d];
    for (size_t keep = 0; keep < axes.size(); ++keep) {
      const AxisList moved = Suffix(axes, keep);
      const int64_t parts = SizeOf(moved);
      Layout without = layout;
      without.dims[d] = Prefix(axes, keep);
      if (!SplitAligns(shape_.dim(d), SizeOf(without.dims[d]), parts)) continue;
      const double share = static_cast<double>(parts - 1) / static_cast<double>(parts);
      AllToAlls(node, layout, without, d, moved);
      const double cost = nodes_[node].cost + kStepCost + Bytes(without) * share;
      Push(without, cost, node, {ReshardStepKind::kGather, moved, d});
    }
  }

  // `moved` goes to the dimension where the target has its first atom.
  void AllToAlls(int node, const Layout& layout, const Layout& without, int d, const AxisList& moved) {
    const int to = TargetDim(moved[0]);
    const int64_t parts = SizeOf(moved);
    if (to < 0 || to == d || !SplitAligns(shape_.dim(to), SizeOf(without.dims[to]), parts)) return;
    Layout after = without;
    after.dims[to] = Concat(after.dims[to], moved);
    const double share = static_cast<double>(parts - 1) / static_cast<double>(parts);
    const double cost = nodes_[node].cost + kStepCost + std::max(Bytes(layout), Bytes(after)) * share;
    Push(std::move(after), cost, node, {ReshardStepKind::kAllToAll, moved, d, to});
  }

  // All partial atoms that the target wants combined.
  void AllReduce(int node, const Layout& layout) {
    const AxisList combined = Without(layout.partial, to_.partial);
    if (combined.empty()) return;
    const double parts = static_cast<double>(SizeOf(combined));
    Layout after = layout;
    after.partial = to_.partial;
    const double cost = nodes_[node].cost + kStepCost + 2 * Bytes(layout) * (parts - 1) / parts;
    Push(std::move(after), cost, node, {ReshardStepKind::kAllReduce, combined});
  }

  // Partial atoms that the target has on `d`, together: in the target's order.
  void ReduceScatters(int node, const Layout& layout, int d) {
    AxisList scattered;
    for (const AxisRef& atom : to_.dims[d]) {
      if (Contains(layout.partial, atom)) scattered.push_back(atom);
    }
    const int64_t parts = SizeOf(scattered);
    if (scattered.empty() || !SplitAligns(shape_.dim(d), SizeOf(layout.dims[d]), parts)) return;
    Layout after = layout;
    after.partial = Without(layout.partial, scattered);
    after.dims[d] = Concat(after.dims[d], scattered);
    const double share = static_cast<double>(parts - 1) / static_cast<double>(parts);
    const double cost = nodes_[node].cost + kStepCost + Bytes(after) * static_cast<double>(parts) * share;
    Push(std::move(after), cost, node, {ReshardStepKind::kReduceScatter, scattered, d});
  }

  // Towards the target with every part keeping its size: each dimension takes what the target has first on
  // it, and is filled up with atoms that are left over.
  void Permute(int node, const Layout& layout) {
    Layout after = Layout::Replicated(shape_.rank());
    after.partial = layout.partial;
    std::vector<int64_t> missing(layout.dims.size());
    for (size_t d = 0; d < layout.dims.size(); ++d) {
      missing[d] = SizeOf(layout.dims[d]);
      for (const AxisRef& atom : to_.dims[d]) {
        if (missing[d] % atom.size != 0 || Overlaps(layout.partial, atom)) break;
        after.dims[d].push_back(atom);
        missing[d] /= atom.size;
      }
    }
    for (size_t d = 0; d < layout.dims.size(); ++d) {
      Fill(layout.dims[d], after, d, missing[d]);
      Fill(layout.Used(), after, d, missing[d]);
      Fill(Without(free_, layout.partial), after, d, missing[d]);
      if (missing[d] != 1) return;
    }
    if (after == layout) return;
    const double cost = nodes_[node].cost + kStepCost + Bytes(layout);
    Push(std::move(after), cost, node, {ReshardStepKind::kPermute});
  }

  static void Fill(const AxisList& candidates, Layout& after, size_t d, int64_t& missing) {
    for (const AxisRef& atom : candidates) {
      if (missing % atom.size != 0 || Overlaps(after.Used(), atom)) continue;
      after.dims[d].push_back(atom);
      missing /= atom.size;
    }
  }

  ReshardPlan PlanTo(int node) const {
    ReshardPlan plan{from_, to_, {}, nodes_[node].cost, 0};
    for (int n = node; nodes_[n].before >= 0; n = nodes_[n].before) plan.steps.push_back(nodes_[n].step);
    std::reverse(plan.steps.begin(), plan.steps.end());
    return Finish(std::move(plan));
  }

  // Neighbouring steps of the same kind on the same dimension become one.
  ReshardPlan Finish(ReshardPlan plan) const {
    std::vector<ReshardStep> merged;
    for (ReshardStep& step : plan.steps) {
      if (!merged.empty() && merged.back().kind == step.kind && merged.back().dim == step.dim) {
        ReshardStep& last = merged.back();
        if (step.kind == ReshardStepKind::kSlice) {
          last.axes = Concat(last.axes, step.axes);
          last.after = step.after;
          continue;
        }
      }
      merged.push_back(std::move(step));
    }
    plan.steps = std::move(merged);
    plan.visits = visits_;
    plan.bytes = plan.cost;
    for (const ReshardStep& step : plan.steps) {
      plan.bytes -= step.kind == ReshardStepKind::kSlice ? kSliceCost * static_cast<double>(step.axes.size())
                                                         : kStepCost;
    }
    return plan;
  }

  // Combine, gather everything that differs, slice. Always possible.
  ReshardPlan Gathering() const {
    ReshardPlan plan{from_, to_, {}, 0, 0};
    Layout layout = from_;
    auto add = [&](ReshardStep step, double bytes) {
      plan.cost += bytes + (step.kind == ReshardStepKind::kSlice ? kSliceCost * step.axes.size() : kStepCost);
      step.after = layout;
      plan.steps.push_back(std::move(step));
    };
    if (const AxisList combined = Without(layout.partial, to_.partial); !combined.empty()) {
      layout.partial = to_.partial;
      add({ReshardStepKind::kAllReduce, combined}, 2 * Bytes(layout));
    }
    for (int d = 0; d < static_cast<int>(layout.dims.size()); ++d) {
      if (layout.dims[d].empty() || layout.dims[d] == to_.dims[d]) continue;
      const AxisList gathered = layout.dims[d];
      layout.dims[d].clear();
      add({ReshardStepKind::kGather, gathered, d}, Bytes(layout));
    }
    for (int d = 0; d < static_cast<int>(layout.dims.size()); ++d) {
      if (layout.dims[d] == to_.dims[d]) continue;
      layout.dims[d] = to_.dims[d];
      add({ReshardStepKind::kSlice, to_.dims[d], d}, 0);
    }
    return Finish(std::move(plan));
  }

  const Shape& shape_;
  const Layout &from_, &to_;
  const AxisList& free_;  // all parts of axes that may move data
  int visits_ = 0;
  std::vector<Node> nodes_;
  absl::flat_hash_map<Layout, double> best_;
  std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, std::greater<>> queue_;
};

// Plans are asked for again and again, by the choice of factor axes and then by the emission.
class Cache {
 public:
  using Key = std::tuple<Mesh, Shape, Layout, Layout, AxisList>;
  static constexpr size_t kMaxPlans = 10000;

  std::optional<ReshardPlan> Find(const Key& key) {
    absl::MutexLock lock(&mutex_);
    const auto it = plans_.find(key);
    if (it == plans_.end()) return std::nullopt;
    return it->second;
  }
  void Keep(Key key, const ReshardPlan& plan) {
    absl::MutexLock lock(&mutex_);
    if (plans_.size() >= kMaxPlans) plans_.clear();
    plans_.emplace(std::move(key), plan);
  }

 private:
  absl::Mutex mutex_;
  absl::flat_hash_map<Key, ReshardPlan> plans_ ABSL_GUARDED_BY(mutex_);
};

std::string StepText(const ReshardStep& step, const Mesh& mesh) {
  static constexpr const char* kNames[] = {"all-slice", "all-gather", "all-to-all",
                                           "permute",   "all-reduce", "reduce-scatter"};
  Layout axes;
  axes.dims = {step.axes};
  Sharding shown = ToSharding(axes, std::make_shared<const Mesh>(mesh));
  std::string text = kNames[static_cast<int>(step.kind)];
  if (!step.axes.empty()) {
    const std::string whole = ToString(shown);
    const size_t open = whole.rfind('[');
    absl::StrAppend(&text, " ", whole.substr(open + 1, whole.rfind(']') - open - 1));
  }
  if (step.dim >= 0) absl::StrAppend(&text, " ", step.dim);
  if (step.to_dim >= 0) absl::StrAppend(&text, "->", step.to_dim);
  return text;
}

}  // namespace

ReshardPlan PlanReshard(const Mesh& mesh, const Shape& shape, const Layout& from, const Layout& to,
                        const AxisList& fixed) {
  if (from == to) return ReshardPlan{from, to, {}, 0, 0};
  static Cache* cache = new Cache();
  Cache::Key key(mesh, shape, from, to, fixed);
  if (std::optional<ReshardPlan> known = cache->Find(key)) return *std::move(known);
  const CoarseLayouts coarse = Coarsen(mesh, from, to, fixed);
  ReshardPlan plan = Search(shape, coarse).Run();
  plan.from = from;
  plan.to = to;
  for (ReshardStep& step : plan.steps) {
    step.axes = Atoms(step.axes);
    step.after = Refined(step.after);
  }
  cache->Keep(std::move(key), plan);
  return plan;
}

std::string ToString(const ReshardPlan& plan, const Mesh& mesh) {
  return absl::StrCat(absl::StrJoin(plan.steps, ", ",
                                    [&](std::string* out, const ReshardStep& step) {
                                      absl::StrAppend(out, StepText(step, mesh));
                                    }),
                      "; ", static_cast<int64_t>(plan.bytes), " bytes");
}

}  // namespace shoal
