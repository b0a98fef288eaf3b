#include "sharding/propagate/factor_propagation.h"

#include <algorithm>
#include <utility>

#include "sharding/mesh/axes.h"
#include "sharding/spec/layout.h"

namespace shoal {

AxisList TensorState::Taken() const {
  AxisList taken = unusable;
  for (const DimSharding& dim : dims) taken.insert(taken.end(), dim.axes.begin(), dim.axes.end());
  return taken;
}

TensorState OpenState(Shape shape) {
  TensorState state;
  state.dims.resize(shape.rank());
  for (DimSharding& dim : state.dims) dim.open = true;
  state.shape = std::move(shape);
  return state;
}

namespace {

// The axes of one factor in one array, and whether more may be added after them.
struct FactorAxes {
  bool present = false;
  bool open = false;
  AxisList axes;
};

// An uneven split leaves rubbish at the end and the last parts may be nearly empty: worth it only for
// dimensions much longer than the number of parts.
bool SplitsWell(int64_t size, int64_t parts) { return size % parts == 0 || size >= 4 * parts; }

class Step {
 public:
  Step(const FactorPropagation& op, const std::function<Direction(int)>& direction, bool aggressive)
      : rule_(*op.rule), direction_(direction), aggressive_(aggressive), is_elementwise_(op.is_elementwise) {
    for (size_t i = 0; i < op.operands.size(); ++i) Add(op.operands[i], rule_.operands[i], true);
    for (size_t i = 0; i < op.results.size(); ++i) Add(op.results[i], rule_.results[i], false);
  }

  bool Run(std::vector<bool>& changed) {
    changed.assign(tensors_.size(), false);
    bool any = false;
    for (int factor : FactorOrder()) {
      for (bool operands : {false, true}) {  // what operands take depends on what results have
        for (size_t t = 0; t < tensors_.size(); ++t) {
          if (tensors_[t].is_operand != operands || !Extend(tensors_[t], factor)) continue;
          changed[t] = any = true;
        }
      }
    }
    return any;
  }

 private:
  struct Tensor {
    TensorState* state;
    const TensorFactors* factors;
    bool is_operand;
    std::vector<FactorAxes> projection;  // one a factor
  };

  void Add(TensorState* state, const TensorFactors& factors, bool is_operand) {
    Tensor tensor{state, &factors, is_operand, {}};
    Project(tensor);
    tensors_.push_back(std::move(tensor));
  }

  // Dimension axes -> factor axes. A factor that is not the last of its dimension takes parts only while
  // they divide it, and the next factor begins when it is used up. Axes that fit nowhere close the dimension.
  void Project(Tensor& tensor) const {
    tensor.projection.assign(rule_.factors.size(), FactorAxes{});
    for (size_t d = 0; d < tensor.factors->size(); ++d) {
      const FactorList& factors = (*tensor.factors)[d];
      const DimSharding& dim = tensor.state->dims[d];
      size_t next = 0;
      for (size_t i = 0; i < factors.size(); ++i) {
        FactorAxes& of_factor = tensor.projection[factors[i]];
        of_factor.present = true;
        int64_t rest = rule_.factors[factors[i]].size;
        const bool last = i + 1 == factors.size();
        while (next < dim.axes.size() && (last || rest % dim.axes[next].size == 0)) {
          rest /= std::max<int64_t>(dim.axes[next].size, 1);
          of_factor.axes.push_back(dim.axes[next++]);
          if (!last && rest == 1) break;
        }
        of_factor.open = dim.open && next == dim.axes.size();
        if (!last && rest != 1) break;  // later factors cannot begin
      }
      for (int factor : factors) tensor.projection[factor].present = true;
    }
  }

  bool IsSource(const Tensor& tensor, Direction direction) const {
    if (tensor.state->rematerialized) return false;
    return direction == Direction::kBoth ||
           (direction == Direction::kForward ? tensor.is_operand : !tensor.is_operand);
  }
  bool IsTarget(const Tensor& tensor, Direction direction) const {
    if (tensor.state->rematerialized) return false;
    return direction == Direction::kBoth ||
           (direction == Direction::kForward ? !tensor.is_operand : tensor.is_operand);
  }

  // What the sources agree on: the longest of their lists, cut where any two differ.
  AxisList Agreed(int factor, Direction direction) const {
    AxisList agreed;
    bool conflict = false;
    for (const Tensor& tensor : tensors_) {
      const FactorAxes& own = tensor.projection[factor];
      if (!own.present || tensor.state->rematerialized) continue;
      if (!IsSource(tensor, direction) && own.axes.empty()) continue;
      if (StartsWith(agreed, own.axes)) continue;
      if (StartsWith(own.axes, agreed) && !conflict) {
        if (IsSource(tensor, direction)) agreed = own.axes;
        continue;
      }
      agreed = CommonPrefix(agreed, own.axes);
      conflict = true;
    }
    return agreed;
  }

  // Factors with axes to give, those from the largest array first.
  std::vector<int> FactorOrder() const {
    std::vector<std::pair<int64_t, int>> order;
    for (int f = 0; f < static_cast<int>(rule_.factors.size()); ++f) {
      const Factor& factor = rule_.factors[f];
      if (!factor.propagates || factor.size <= 1 || direction_(f) == Direction::kNone) continue;
      const AxisList agreed = Agreed(f, direction_(f));
      if (agreed.empty()) continue;
      int64_t largest = 0;
      for (const Tensor& tensor : tensors_) {
        if (StartsWith(tensor.projection[f].axes, agreed)) {
          largest = std::max(largest, tensor.state->shape.ByteSize());
        }
      }
      order.emplace_back(-largest, f);
    }
    std::sort(order.begin(), order.end());
    std::vector<int> factors;
    for (const auto& [size, f] : order) factors.push_back(f);
    return factors;
  }

  // In the basic strategy an axis that any array uses along another factor is not offered.
  AxisList Offered(int factor) const {
    AxisList offered = Agreed(factor, direction_(factor));
    if (aggressive_) return offered;
    for (const Tensor& tensor : tensors_) {
      for (int other = 0; other < static_cast<int>(rule_.factors.size()); ++other) {
        if (other != factor) offered = PrefixClearOf(offered, tensor.projection[other].axes);
      }
    }
    return offered;
  }

  // `offered`, or a result's part of it.
  AxisList ThatResultsHave(AxisList offered, int factor) const {
    for (const Tensor& tensor : tensors_) {
      const FactorAxes& own = tensor.projection[factor];
      if (!tensor.is_operand && own.present && StartsWith(offered, own.axes)) offered = own.axes;
    }
    return offered;
  }

  bool Extend(Tensor& tensor, int factor) {
    FactorAxes& own = tensor.projection[factor];
    if (!own.present || !own.open || !IsTarget(tensor, direction_(factor))) return false;
    AxisList offered = Offered(factor);
    if (is_elementwise_ && tensor.is_operand) offered = ThatResultsHave(offered, factor);
    if (offered.size() <= own.axes.size() || !StartsWith(offered, own.axes)) return false;
    const AxisList more = PrefixClearOf(Suffix(offered, own.axes.size()), tensor.state->Taken());
    bool any = false;
    for (const AxisRef& atom : more) {
      if (!Append(tensor, factor, atom)) break;
      any = true;
    }
    return any;
  }

  // Adds one atom to the dimension that has the factor, if the factors before it are used up, none after it
  // has begun, and the sizes allow.
  bool Append(Tensor& tensor, int factor, const AxisRef& atom) {
    for (size_t d = 0; d < tensor.factors->size(); ++d) {
      const FactorList& factors = (*tensor.factors)[d];
      const auto it = std::find(factors.begin(), factors.end(), factor);
      if (it == factors.end()) continue;
      for (auto major = factors.begin(); major != it; ++major) {
        if (SizeOf(tensor.projection[*major].axes) != rule_.factors[*major].size) return false;
      }
      for (auto minor = it + 1; minor != factors.end(); ++minor) {
        if (!tensor.projection[*minor].axes.empty()) return false;
      }
      DimSharding& dim = tensor.state->dims[d];
      const int64_t parts = SizeOf(tensor.projection[factor].axes) * atom.size;
      const bool compound = factors.size() > 1;
      if (compound && rule_.factors[factor].size % parts != 0) return false;
      if (!compound && !SplitsWell(tensor.state->shape.dim(static_cast<int64_t>(d)), parts)) return false;
      dim.axes.push_back(atom);
      tensor.projection[factor].axes.push_back(atom);
      // A later factor may begin now.
      if (compound) Project(tensor);
      return true;
    }
    return false;
  }

  const FactorRule& rule_;
  const std::function<Direction(int)>& direction_;
  const bool aggressive_, is_elementwise_;
  std::vector<Tensor> tensors_;
};

}  // namespace

bool PropagateFactors(const FactorPropagation& op, const std::function<Direction(int factor)>& direction,
                      bool aggressive, std::vector<bool>& changed) {
  return Step(op, direction, aggressive).Run(changed);
}

}  // namespace shoal
