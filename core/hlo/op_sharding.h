// OpSharding: a sharding as GSPMD writes it. The fields of XLA's proto, by which PJRT tells JAX where
// parameters and results lie and JAX's partitioners answer; and its text.
//
//   {devices=[2,4]<=[8]}                                      iota order
//   {devices=[4,2]<=[2,4]T(1,0)}                              iota(8).reshape(2,4).transpose(1,0)
//   {devices=[2,2]0,2,1,3}                                    a plain list
//   {devices=[2,1,4]<=[8] last_tile_dim_replicate}            replicated over the last dimension
//   {devices=[2,2,2]<=[8] last_tile_dims={manual, replicated}}
//   {replicated} {maximal device=3} {manual} {{replicated}, {devices=[8]<=[8]}}
//
// Values. sharding/spec/gspmd.h translates them from and to core/hlo/sharding.h; the text of programs is read
// by core/stablehlo/gspmd_sharding.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shoal {

// Of one array, or of a tuple. Type numbers are those of OpSharding.Type.
struct OpSharding {
  enum class Type : int {
    kReplicated = 0,
    kMaximal = 1,
    kTuple = 2,
    kOther = 3,
    kManual = 4,
    kUnknown = 5,  // nothing is said
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
std::string ToGspmdText(const OpSharding& sharding);

// The serialized proto. Any bytes are safe to read: what is no such proto, or one whose numbers do not fit
// each other, is InvalidArgument. Fields without meaning here are skipped.
std::string SerializeOpSharding(const OpSharding& sharding);
absl::StatusOr<OpSharding> ParseOpSharding(absl::string_view bytes);

}  // namespace shoal
