// HLO text out: the form that XLA's tools write and read, for dumps, tests and messages. parser.h reads it
// back: parsing what ToText wrote gives a module that prints the same.
//
//   HloModule m, entry_computation_layout={(f32[4])->f32[4]}
//
//   ENTRY %main (a: f32[4]) -> f32[4] {
//     %a = f32[4] parameter(0)
//     ROOT %add.1 = f32[4] add(%a, %a)
//   }
//
// What XLA has no word for is written beside: shardings in Shoal's own form, donors, memory kinds.
// Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "core/hlo/instruction.h"

namespace shoal {

struct PrintOptions {
  bool layouts = false;         // f32[2,3]{1,0}
  bool operand_shapes = false;  // add(f32[4] %a, f32[4] %b)
  bool shardings = true;
  bool metadata = true;                // where the user wrote it
  int64_t max_constant_elements = 64;  // of constants written number by number; others are bytes
  bool digest_constants = false;       // these others as a fingerprint only, which nobody can read back
};

std::string ToText(const Module& module, const PrintOptions& options = {});
std::string ToText(const Computation& computation, const PrintOptions& options = {});
// One line, without indentation and line end.
std::string ToText(const Instruction& instruction, const PrintOptions& options = {});

}  // namespace shoal
