// SortRow: what the native code of a sort calls for each row. Plain C types: generated code fills it in by
// position.
#pragma once

#include <cstdint>

namespace shoal {

struct SortRowArguments {
  int64_t count;          // elements of a row
  int64_t stride;         // elements from one to the next in memory
  int64_t take;           // how many of the first are wanted
  int64_t operands;       // arrays that are permuted together
  const int32_t* widths;  // bytes of an element of each
  char* const* inputs;    // the row's first element in each
  char* const* outputs;
  int32_t* indices;  // if not null: gets the first `take` positions (top-k)
  int64_t wide_key;  // keys have 64 bits
  // Writes, for each element i of [begin, end), (key << 32 | i), or with wide_key the pair key, i. Smaller
  // keys come first. Null if the order is not that of a key; then
  void (*keys)(char* const* inputs, int64_t begin, int64_t end, uint64_t* out);
  // tells whether element i comes before element j.
  bool (*less)(char* const* inputs, int64_t i, int64_t j);
};

// Stable. Rows have fewer than 2^32 elements.
extern "C" void shoal_sort_row(const SortRowArguments* arguments);

}  // namespace shoal
