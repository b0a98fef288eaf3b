// AlgorithmTable: which algorithm a collective takes on some machine, as shoal-tune has measured it there
// (plugin/tune) and SHOAL_TUNING names the file. A value; immutable after Parse.
//
//   shoal-table 1                             a line each; # begins a comment
//   all-reduce one-host 4 16384 linear        up to 16384 bytes among 4 processes of one host
//   all-reduce one-host 4 - direct            and for all that is larger
//
// The words in between are `one-host`, `own-hosts` (a process each) and `shared-hosts` (several). Numbers of
// processes that the table lacks are served by the nearest one that it has, by ratio.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "collectives/algorithms/select.h"

namespace shoal {

// The word of a situation.
absl::string_view ArrangementName(const Situation& situation);

class AlgorithmTable {
 public:
  // InvalidArgument naming the line for what is not as above, or names no algorithm of that collective.
  static absl::StatusOr<AlgorithmTable> Parse(absl::string_view text);
  // Reads a file.
  static absl::StatusOr<AlgorithmTable> Load(const std::string& path);

  struct Row {
    CollectiveKind collective;
    std::string arrangement;
    int ranks = 0;
    int64_t up_to = 0;  // bytes, inclusive
    const Algorithm* algorithm = nullptr;
    int line = 0;
  };
  // Null where the table says nothing of the collective in such an arrangement.
  const Row* Find(CollectiveKind collective, const Situation& situation) const;
  // What the processes of a job must have in common.
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::vector<Row> rows_;
};

}  // namespace shoal
