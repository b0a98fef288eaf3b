// Where a window touches its base. Internal to core/codegen.
#pragma once

#include "core/codegen/element.h"

namespace shoal {

struct WindowPosition {
  Index index;                    // in the base; anything where `inside` does not hold
  llvm::Value* inside = nullptr;  // null: always
};

// The position that window index `w` touches for output index `o` along one dimension of `base_extent`
// elements.
WindowPosition PositionIn(ElementEmitter& e, const WindowDimension& dim, int64_t base_extent, Index o,
                          Index w);

}  // namespace shoal
