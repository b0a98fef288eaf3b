#include "sharding/partition/index_parts.h"

namespace shoal {
namespace {

// A signed type that holds every index of `type` and every position.
ElementType WideIndexType(const LocalBuilder& b, ElementType type) {
  const bool fits = BitWidth(type) < 32 || type == ElementType::kS32;
  return fits ? b.position_type() : ElementType::kS64;
}

Instruction* Splat(LocalBuilder& b, const Instruction* like, int64_t value) {
  const Shape& shape = like->shape();
  return b.BroadcastScalar(b.computation()->AddConstant(Literal::Scalar(shape.element_type(), value)),
                           shape.dims());
}

// As a signed type. What an unsigned one has beyond `high` becomes `high`.
Instruction* Widened(LocalBuilder& b, Instruction* index, int64_t high) {
  const ElementType type = index->shape().element_type();
  if (IsUnsigned(type) && BitWidth(type) >= 32) {
    index = b.Binary(Opcode::kMinimum, index, Splat(b, index, high));
  }
  return b.Convert(index, WideIndexType(b, type));
}

class IndexRewriter {
 public:
  IndexRewriter(LocalBuilder& builder, Instruction* indices, int64_t index_vector_dim)
      : b_(builder), indices_(indices), vector_dim_(index_vector_dim) {
    const Shape& shape = indices->shape();
    has_vector_ = vector_dim_ < shape.rank();
    for (int64_t d = 0; d < shape.rank(); ++d) {
      if (d != vector_dim_) batch_dims_.push_back(shape.dim(d));
    }
  }

  LocalIndices Run(absl::Span<const IndexedDim> dims, bool clamp) {
    LocalIndices result;
    const int64_t components = has_vector_ ? indices_->shape().dim(vector_dim_) : 1;
    const ElementType wide = WideIndexType(b_, indices_->shape().element_type());
    std::vector<Instruction*> parts;
    for (int64_t c = 0; c < components; ++c) {
      Instruction* part = has_vector_ ? b_.Slice(indices_, vector_dim_, c, c + 1) : indices_;
      part = b_.Reshape(part, batch_dims_);
      const IndexedDim* dim = nullptr;
      for (const IndexedDim& candidate : dims) {
        if (candidate.component == c) dim = &candidate;
      }
      part = dim == nullptr ? b_.Convert(part, wide) : Localize(part, *dim, clamp, result.inside);
      DimVector with_vector = batch_dims_;
      if (has_vector_) with_vector.insert(with_vector.begin() + vector_dim_, 1);
      parts.push_back(b_.Reshape(part, with_vector));
    }
    result.indices = has_vector_ ? b_.Concatenate(parts, vector_dim_) : parts[0];
    return result;
  }

 private:
  Instruction* Localize(Instruction* index, const IndexedDim& dim, bool clamp, Instruction*& inside) {
    index = clamp ? ClampedIndex(b_, index, dim.global_size - 1) : Widened(b_, index, dim.global_size);
    const ElementType wide = index->shape().element_type();
    Instruction* offset = b_.Binary(Opcode::kMultiply, b_.Coordinate(dim.axes), b_.Position(dim.local_size));
    offset = b_.BroadcastScalar(b_.Convert(offset, wide), batch_dims_);
    index = b_.Binary(Opcode::kSubtract, index, offset);
    if (!clamp) return index;
    Instruction* here =
        b_.Binary(Opcode::kAnd, b_.Compare(ComparisonDirection::kGe, index, Splat(b_, index, 0)),
                  b_.Compare(ComparisonDirection::kLt, index, Splat(b_, index, dim.local_size)));
    inside = inside == nullptr ? here : b_.Binary(Opcode::kAnd, inside, here);
    return index;
  }

  LocalBuilder& b_;
  Instruction* indices_;
  const int64_t vector_dim_;
  bool has_vector_ = false;
  DimVector batch_dims_;
};

}  // namespace

Instruction* ClampedIndex(LocalBuilder& b, Instruction* index, int64_t high) {
  index = Widened(b, index, high);
  index = b.Binary(Opcode::kMaximum, index, Splat(b, index, 0));
  return b.Binary(Opcode::kMinimum, index, Splat(b, index, high));
}

LocalIndices MakeLocalIndices(LocalBuilder& builder, Instruction* indices, int64_t index_vector_dim,
                              absl::Span<const IndexedDim> dims, bool clamp) {
  return IndexRewriter(builder, indices, index_vector_dim).Run(dims, clamp);
}

}  // namespace shoal
