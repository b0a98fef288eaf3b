// ProgramDump: writes a program at every stage of its compilation into SHOAL_DUMP, for people to read.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "core/hlo/instruction.h"

namespace shoal {

class ProgramDump {
 public:
  // Makes DIR/<module>.<number>/ if SHOAL_DUMP=DIR is set; otherwise all calls do nothing. A folder that
  // cannot be written is one warning.
  explicit ProgramDump(absl::string_view module_name);

  // NN_<stage>.hlo, counting up.
  void Write(absl::string_view stage, const Module& module);
  bool enabled() const { return !folder_.empty(); }

 private:
  std::string folder_;
  int next_ = 0;
};

}  // namespace shoal
