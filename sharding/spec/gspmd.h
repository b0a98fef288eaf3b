// Shardings as GSPMD writes them, both ways: the text of `mhlo.sharding` and HLO's `sharding={...}`, and the
// fields of the OpSharding proto, which PJRT hands to JAX.
//
//   {devices=[2,4]<=[8]}                                      iota order
//   {devices=[4,2]<=[2,4]T(1,0)}                              iota(8).reshape(2,4).transpose(1,0)
//   {devices=[2,2]0,2,1,3}                                    a plain list
//   {devices=[2,1,4]<=[8] last_tile_dim_replicate}            replicated over the last dimension
//   {devices=[2,2,2]<=[8] last_tile_dims={manual, replicated}}
//   {replicated} {maximal device=3} {manual} {{replicated}, {devices=[8]<=[8]}}
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/hlo/sharding.h"

namespace shoal {

// OpSharding's fields, for one array. Type numbers are those of OpSharding.Type.
struct OpSharding {
  enum class Type : int {
    kReplicated = 0,
    kMaximal = 1,
    kTuple = 2,
    kOther = 3,
    kManual = 4,
    kUnreduced = 6
  };
  Type type = Type::kReplicated;
  // One a dimension of the array, then one an entry of last_tile_dims.
  std::vector<int64_t> tile_dims;
  std::vector<Type> last_tile_dims;  // kReplicated, kManual or kUnreduced
  // The devices are iota(product).reshape(reshape_dims).transpose(transpose); if reshape_dims is empty, they
  // stand in `devices`, row-major over tile_dims. kMaximal: one entry.
  std::vector<int64_t> reshape_dims;
  std::vector<int> transpose;
  std::vector<int64_t> devices;
  std::vector<OpSharding> elements;  // kTuple
};

// All devices in the order of the tiles.
std::vector<int64_t> DevicesOf(const OpSharding& sharding);

absl::StatusOr<OpSharding> ParseGspmd(absl::string_view text);
std::string ToGspmdText(const OpSharding& sharding);

// REQUIRES: not a tuple. `rank` is the array's. Manual dimensions are treated as replicated.
absl::StatusOr<Sharding> FromOpSharding(const OpSharding& sharding, int64_t rank);
// A sharding without a mesh is replicated. Devices that no dimension is split over become one last dimension
// of type replicated.
OpSharding ToOpSharding(const Sharding& sharding);

}  // namespace shoal
