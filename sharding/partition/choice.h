// Which axes each factor of an instruction is split over: the choice that makes moving operands there, and
// the result from there, cheapest.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "sharding/rules/rule.h"
#include "sharding/spec/layout.h"

namespace shoal {

// Axes (atoms) of each factor of a rule.
using FactorAxesList = std::vector<AxisList>;

// One operand or result leaf as the choice sees it.
struct ChoiceTensor {
  Shape shape;        // global
  Layout layout;      // where the operand is, or where the result shall be
  bool free = false;  // the operand can be made in any layout at no cost
};

struct ChoiceProblem {
  const FactorRule* rule = nullptr;
  std::vector<ChoiceTensor> operands, results;
  // Factors of other kinds than pass-through and reduction that the caller can split all the same.
  std::vector<bool> splittable;  // one a factor, or none
  // What the caller's own data movement costs under a choice, in bytes sent; infinity: it cannot do it.
  std::function<double(const FactorAxesList&)> extra_cost;
  // Multiplications and additions a point of the whole factor space; 0 if the work is about the bytes.
  double flops_per_point = 0;
};

struct Choice {
  FactorAxesList axes;
  std::vector<Layout> operands, results;  // layouts that follow; results have partial sums still
  double cost = 0;
};

// `fixed`: manual axes, which nothing may use.
Choice ChooseFactorAxes(const Mesh& mesh, const ChoiceProblem& problem, const AxisList& fixed);

// The layout that an array has if its factors are split so. Nothing if its parts would not be contiguous: a
// minor factor split while a major one of the same dimension is not used up; or uneven in a dimension of
// several factors.
std::optional<Layout> LayoutFor(const FactorRule& rule, const TensorFactors& tensor,
                                const FactorAxesList& axes);
// How a layout splits each factor, as far as it can be said so.
FactorAxesList ProjectToFactors(const FactorRule& rule, const TensorFactors& tensor, const Layout& layout);

}  // namespace shoal
