// The inner tile of matrix products and convolutions. Internal to core/codegen: includes LLVM.
//
// c[r][n] (+)= sum over the loops of a[r][...] * b[...][n], for some rows and up to kTileVectors vectors of
// columns, all sums in registers. Both products pick their a and b so that one tile serves them: `loops` say
// how far a and b move with each contracted index. Offsets and steps count elements.
#pragma once

#include <string>
#include <vector>

#include "core/codegen/lanes.h"

namespace shoal {

struct TileLoop {
  int64_t extent = 1, a_step = 0, b_step = 0;
};

struct Tile {
  ElementType type = ElementType::kF32;    // of a, b and the sums: f32, f64 or an integer
  ElementType result = ElementType::kF32;  // of c; narrower than `type` only without `accumulate`
  int width = 1;                           // lanes
  int64_t rows = 1, columns = 1;           // columns <= kTileVectors * width
  int64_t a_row_step = 0, c_row_step = 0;
  std::vector<TileLoop> loops;  // the last one is the innermost; its extent is an argument
  bool accumulate = false;      // c is added to
  bool b_is_padded = true;      // b may be read up to whole vectors
};

inline constexpr int64_t kTileVectors = 2;
// Rows that fill the registers of this CPU.
int64_t TileRows();

// void name(a, b, c, int64 innermost extent), internal to the module.
llvm::Function* EmitTile(IrModule& ir, const std::string& name, const Tile& tile);

}  // namespace shoal
