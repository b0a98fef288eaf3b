// AskedRuns: which runs of a communicator have been asked for in this process, ever: a process may be far
// ahead of its peers, and must still know what they wait for. Ids of one program's runs follow each other, so
// that all of them are a range. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>

namespace shoal {

class AskedRuns {
 public:
  void Add(int64_t run);
  // Also true where it is not known any more, because ids were so scattered that some had to be forgotten.
  bool MayContain(int64_t run) const;

 private:
  using Ranges = std::map<int64_t, int64_t>;  // the last by the first, both within; with gaps between them
  Ranges ranges_;
  Ranges::iterator recent_ = ranges_.end();  // what the last Add changed or found
  bool has_forgotten_ = false;
};

}  // namespace shoal
