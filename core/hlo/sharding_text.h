// Shardings as HLO text, the inverse of ToString(Sharding):
//
//   {mesh<[x=4,y=2,z=2]>, [{x}, {y:(2)2,?}p1], replicated={z}}       {no mesh, []} where nothing is said
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/hlo/sharding.h"
#include "core/hlo/text_cursor.h"

namespace shoal {

// A whole axis, or a part of one: "x" or "x:(2)2".
std::string AxisText(const Mesh* mesh, const AxisRef& ref);
absl::StatusOr<AxisRef> ReadAxis(const Mesh* mesh, TextCursor& cursor);

// Equal meshes of one reader are one object.
class ShardingReader {
 public:
  absl::StatusOr<Sharding> Read(TextCursor& cursor);
  // One sharding, or "{sharding, sharding}" for the leaves of a tuple; "{}" is none.
  absl::StatusOr<std::vector<Sharding>> ReadList(TextCursor& cursor);

 private:
  absl::StatusOr<std::shared_ptr<const Mesh>> ReadMesh(TextCursor& cursor);

  std::vector<std::shared_ptr<const Mesh>> meshes_;
};

// The text of ReadList.
std::string ShardingListText(const std::vector<Sharding>& shardings);

}  // namespace shoal
