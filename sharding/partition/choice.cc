#include "sharding/partition/choice.h"

#include <algorithm>

#include "sharding/mesh/axes.h"
#include "sharding/reshard/cost.h"
#include "sharding/reshard/plan.h"

namespace shoal {
namespace {

// Combinations of candidates that are priced before the rest is given up.
constexpr int kMaxCombinations = 400;
// A core does about thirty operations in the time in which a byte is sent.
constexpr double kFlop = 1.0 / 30;

class Chooser {
 public:
  Chooser(const Mesh& mesh, const ChoiceProblem& problem, const AxisList& fixed)
      : mesh_(mesh), problem_(problem), rule_(*problem.rule), fixed_(fixed) {}

  Choice Run() {
    FindHomeless();
    for (int f = 0; f < factor_count(); ++f) candidates_.push_back(CandidatesOf(f));
    FactorAxesList axes(factor_count());
    Try(axes);  // nothing split: always possible
    Enumerate(0, axes);
    return std::move(best_);
  }

 private:
  int factor_count() const { return static_cast<int>(rule_.factors.size()); }

  bool IsSplittable(int factor) const {
    const FactorKind kind = rule_.factors[factor].kind;
    return kind == FactorKind::kPassThrough ||
           (kind == FactorKind::kReduction && rule_.combiner != Combiner::kRegion) ||
           (!problem_.splittable.empty() && problem_.splittable[factor]);
  }

  // The axes that arrays have along factors that cannot be split, or only with halos.
  void FindHomeless() {
    auto look = [&](const std::vector<ChoiceTensor>& tensors, const std::vector<TensorFactors>& factors) {
      for (size_t t = 0; t < tensors.size(); ++t) {
        if (tensors[t].free) continue;
        const FactorAxesList axes = ProjectToFactors(rule_, factors[t], tensors[t].layout);
        for (int f = 0; f < factor_count(); ++f) {
          const FactorKind kind = rule_.factors[f].kind;
          if (axes[f].empty() || kind == FactorKind::kPassThrough || kind == FactorKind::kReduction) continue;
          if (std::find(homeless_.begin(), homeless_.end(), axes[f]) == homeless_.end()) {
            homeless_.push_back(axes[f]);
          }
        }
      }
    };
    look(problem_.results, rule_.results);
    look(problem_.operands, rule_.operands);
  }

  // What the arrays have along the factor, each list once; the empty one last.
  std::vector<AxisList> CandidatesOf(int factor) const {
    std::vector<AxisList> found;
    const FactorKind kind = rule_.factors[factor].kind;
    const bool splittable = IsSplittable(factor);
    auto offer = [&](const std::vector<ChoiceTensor>& tensors, const std::vector<TensorFactors>& factors) {
      for (size_t t = 0; t < tensors.size(); ++t) {
        const AxisList axes = ProjectToFactors(rule_, factors[t], tensors[t].layout)[factor];
        if (axes.empty() || std::find(found.begin(), found.end(), axes) != found.end()) continue;
        found.push_back(axes);
      }
    };
    if (splittable) {
      offer(problem_.results, rule_.results);
      offer(problem_.operands, rule_.operands);
    }
    // Axes that stand where nothing can be split may come here instead of being gathered; where they do not
    // divide, the parts' padding is priced as what it is.
    if (kind == FactorKind::kPassThrough && rule_.factors[factor].size > 1) {
      const std::vector<AxisList> here = found;
      for (const AxisList& homeless : homeless_) {
        std::vector<AxisList> with = {homeless};
        for (const AxisList& axes : here) with.push_back(Concat(axes, homeless));
        for (AxisList& axes : with) {
          if (axes.size() > homeless.size() &&
              Overlaps(Prefix(axes, axes.size() - homeless.size()), homeless)) {
            continue;
          }
          if (std::find(found.begin(), found.end(), axes) == found.end()) found.push_back(std::move(axes));
        }
      }
    }
    found.push_back({});
    return found;
  }

  void Enumerate(int factor, FactorAxesList& axes) {
    if (tried_ >= kMaxCombinations) return;
    if (factor == factor_count()) {
      Try(axes);
      return;
    }
    for (const AxisList& candidate : candidates_[factor]) {
      bool clear = true;
      for (int f = 0; f < factor; ++f) clear &= !Overlaps(axes[f], candidate);
      if (!clear) continue;
      axes[factor] = candidate;
      Enumerate(factor + 1, axes);
    }
    axes[factor].clear();
  }

  void Try(const FactorAxesList& axes) {
    ++tried_;
    Choice choice{axes, {}, {}, 0};
    for (const TensorFactors& tensor : rule_.operands) {
      std::optional<Layout> layout = LayoutFor(rule_, tensor, axes);
      if (!layout) return;
      choice.operands.push_back(*std::move(layout));
    }
    AxisList partial;
    for (int f = 0; f < factor_count(); ++f) {
      if (rule_.factors[f].kind == FactorKind::kReduction) partial = Concat(partial, axes[f]);
    }
    std::sort(partial.begin(), partial.end());
    for (const TensorFactors& tensor : rule_.results) {
      std::optional<Layout> layout = LayoutFor(rule_, tensor, axes);
      if (!layout) return;
      layout->partial = partial;
      choice.results.push_back(*std::move(layout));
    }
    Price(choice);
    if (have_best_ && choice.cost >= best_.cost) return;
    have_best_ = true;
    best_ = std::move(choice);
  }

  void Price(Choice& choice) const {
    double local_bytes = 0;
    for (size_t i = 0; i < choice.operands.size(); ++i) {
      const ChoiceTensor& operand = problem_.operands[i];
      if (!operand.shape.IsArray()) continue;
      local_bytes += static_cast<double>(LocalShape(operand.shape, choice.operands[i]).ByteSize());
      if (operand.free) continue;
      choice.cost += PlanReshard(mesh_, operand.shape, operand.layout, choice.operands[i], fixed_).cost;
    }
    for (size_t i = 0; i < choice.results.size(); ++i) {
      const ChoiceTensor& result = problem_.results[i];
      if (!result.shape.IsArray()) continue;
      local_bytes += static_cast<double>(LocalShape(result.shape, choice.results[i]).ByteSize());
      choice.cost += PlanReshard(mesh_, result.shape, choice.results[i], result.layout, fixed_).cost;
    }
    if (problem_.extra_cost) choice.cost += problem_.extra_cost(choice.axes);
    choice.cost += local_bytes * kMemoryByte;
    double points = problem_.flops_per_point;
    for (int f = 0; f < factor_count() && points > 0; ++f) {
      points *= static_cast<double>(LocalSize(rule_.factors[f].size, SizeOf(choice.axes[f])));
    }
    choice.cost += points * kFlop;
  }

  const Mesh& mesh_;
  const ChoiceProblem& problem_;
  const FactorRule& rule_;
  const AxisList& fixed_;
  std::vector<AxisList> homeless_;
  std::vector<std::vector<AxisList>> candidates_;
  int tried_ = 0;
  bool have_best_ = false;
  Choice best_;
};

}  // namespace

Choice ChooseFactorAxes(const Mesh& mesh, const ChoiceProblem& problem, const AxisList& fixed) {
  return Chooser(mesh, problem, fixed).Run();
}

std::optional<Layout> LayoutFor(const FactorRule& rule, const TensorFactors& tensor,
                                const FactorAxesList& axes) {
  Layout layout = Layout::Replicated(static_cast<int64_t>(tensor.size()));
  for (size_t d = 0; d < tensor.size(); ++d) {
    bool used_up = true;
    for (int factor : tensor[d]) {
      const int64_t size = rule.factors[factor].size, parts = SizeOf(axes[factor]);
      if (parts > 1 && !used_up) return std::nullopt;
      if (tensor[d].size() > 1 && parts > 1 && size % parts != 0) return std::nullopt;
      used_up &= size == parts;
      layout.dims[d] = Concat(layout.dims[d], axes[factor]);
    }
  }
  return layout;
}

FactorAxesList ProjectToFactors(const FactorRule& rule, const TensorFactors& tensor, const Layout& layout) {
  FactorAxesList axes(rule.factors.size());
  for (size_t d = 0; d < tensor.size(); ++d) {
    size_t next = 0;
    const AxisList& of_dim = layout.dims[d];
    for (size_t i = 0; i < tensor[d].size(); ++i) {
      const int factor = tensor[d][i];
      int64_t rest = rule.factors[factor].size;
      const bool only = tensor[d].size() == 1;
      while (next < of_dim.size() && (only || rest % of_dim[next].size == 0)) {
        if (!only) rest /= of_dim[next].size;
        axes[factor].push_back(of_dim[next++]);
      }
      if (rest != 1) break;
    }
  }
  return axes;
}

}  // namespace shoal
