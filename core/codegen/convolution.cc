// Elements of convolution: a loop over window and input features, lanes over neighbouring results. Right for
// every type and every option.
#include "core/base/status.h"
#include "core/codegen/element.h"
#include "core/codegen/multiply_add.h"
#include "core/codegen/window_position.h"

namespace shoal {
namespace {

// All the numbers a convolution's loops need.
struct ConvolutionView {
  explicit ConvolutionView(const Instruction& op)
      : a(op.attributes<ConvolutionAttributes>()),
        input(op.operand(0)->shape()),
        kernel(op.operand(1)->shape()) {
    features = kernel.dim(a.kernel_input_feature);
    outputs_per_group = kernel.dim(a.kernel_output_feature) / (a.feature_group_count * a.batch_group_count);
    loop_extents.push_back(features);
    for (const WindowDimension& dim : a.window) loop_extents.push_back(dim.size);
    for (int64_t extent : loop_extents) trips *= extent;
  }
  const ConvolutionAttributes& a;
  const Shape &input, &kernel;
  int64_t features = 1, outputs_per_group = 1, trips = 1;
  std::vector<int64_t> loop_extents;  // input features of a group, then the window
};

}  // namespace

absl::StatusOr<Element> EmitConvolution(ElementEmitter& e, const Instruction& op, const Digits& at) {
  ConvolutionView c(op);
  IndexBuilder& index = e.index();
  LaneBuilder& lanes = e.lanes();
  std::vector<Index> out = index.Dimensions(at, op.shape());
  Index feature = out[c.a.output_feature], batch = out[c.a.output_batch];
  // A group of output features reads its own group of input features, or of the batch.
  Index group = index.Div(feature, c.outputs_per_group);
  Index first_feature = c.a.feature_group_count > 1 ? index.Mul(group, c.features) : index.Constant(0);
  if (c.a.batch_group_count > 1) {
    int64_t batches = c.input.dim(c.a.input_batch) / c.a.batch_group_count;
    batch = index.Add(index.Mul(group, batches), batch);
  }
  ElementType type = op.shape().element_type(), operand_type = c.input.element_type();
  llvm::Value* zero = llvm::Constant::getNullValue(lanes.RegisterType(type));
  Element none = lanes.Splat(Element{zero, IsComplex(type) ? zero : nullptr});
  ElementEmitter::Scope scope(e);
  auto body = [&](llvm::Value* trip, const Carried& current) -> absl::StatusOr<Carried> {
    std::vector<Index> digits(c.loop_extents.size());
    Index rest = index.Uniform(trip);
    for (size_t k = digits.size(); k-- > 0;) {
      digits[k] = k == 0 ? rest : index.Rem(rest, c.loop_extents[k]);
      rest = index.Div(rest, c.loop_extents[k]);
    }
    std::vector<Index> in(c.input.rank()), weight(c.kernel.rank());
    llvm::Value* inside = nullptr;
    in[c.a.input_batch] = batch;
    in[c.a.input_feature] = index.Add(first_feature, digits[0]);
    weight[c.a.kernel_input_feature] = digits[0];
    weight[c.a.kernel_output_feature] = feature;
    for (size_t s = 0; s < c.a.window.size(); ++s) {
      WindowDimension dim = c.a.window[s];
      // Reversal turns the kernel around, not the walk over the input.
      Index w = digits[s + 1];
      weight[c.a.kernel_spatial[s]] = dim.reversal ? index.Add(index.Mul(w, -1), dim.size - 1) : w;
      dim.reversal = false;
      WindowPosition p = PositionIn(e, dim, c.input.dim(c.a.input_spatial[s]), out[c.a.output_spatial[s]], w);
      inside = lanes.AndMask(inside, p.inside);
      in[c.a.input_spatial[s]] = p.index;
    }
    SHOAL_ASSIGN_OR_RETURN(Element x,
                           e.EmitMasked(*op.operand(0), index.FromDimensions(in, c.input), inside));
    SHOAL_ASSIGN_OR_RETURN(Element y, e.Emit(*op.operand(1), index.FromDimensions(weight, c.kernel)));
    if (inside != nullptr)
      x = lanes.Select(inside, x, Element{lanes.Const0(x.re), x.im ? lanes.Const0(x.im) : nullptr});
    x = ToAccumulator(lanes, operand_type, type, x);
    y = ToAccumulator(lanes, c.kernel.element_type(), type, y);
    return Flatten({lanes.Splat(MultiplyAdd(lanes, type, x, y, Unflatten(current, {none})[0]))});
  };
  SHOAL_ASSIGN_OR_RETURN(Carried result,
                         EmitLoopCarrying(lanes, lanes.I64(0), lanes.I64(c.trips), 1, Flatten({none}), body));
  return lanes.RoundTo(type, Unflatten(result, {none})[0]);
}

}  // namespace shoal
