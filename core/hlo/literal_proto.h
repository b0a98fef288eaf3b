// Shapes and literals as protos, both ways. Inside core/hlo.
#pragma once

#include "absl/status/statusor.h"
#include "core/hlo/proto/hlo.pb.h"
#include "core/types/literal.h"
#include "core/types/shape.h"

namespace shoal {

void ShapeToProto(const Shape& shape, wire::ShapeProto& proto);
// Bounded in nesting and size; only static dimensions. Layouts are skipped.
absl::StatusOr<Shape> ShapeFromProto(const wire::ShapeProto& proto);
// Whether no layout, or only row-major ones, are given. REQUIRES: ShapeFromProto took it.
bool IsRowMajor(const wire::ShapeProto& proto);
void LiteralToProto(const Literal& literal, wire::LiteralProto& proto);
absl::StatusOr<Literal> LiteralFromProto(const wire::LiteralProto& proto);

}  // namespace shoal
