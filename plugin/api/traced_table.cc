// The table whose every entry prints a line and calls the real one. Handed out only with SHOAL_TRACE=1.
#include <chrono>
#include <cstdio>

#include "absl/strings/str_format.h"
#include "plugin/api/trace_line.h"
#include "plugin/api/trace_list.h"

namespace shoal {
namespace {

using Clock = std::chrono::steady_clock;

double Microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

const PJRT_Api* real_api = nullptr;  // set once, before the traced table is handed out
const Clock::time_point start_time = Clock::now();

// What each entry's line shows; the full specialisations come from trace_list.h, and an entry without one
// does not link.
template <typename Entry>
void Inputs(const typename Entry::Args& a, TraceLine& line);
template <typename Entry>
void Outputs(const typename Entry::Args& a, TraceLine& line);

#define F(field) Field(#field, a.field)
#define S(field) String(#field, a.field, a.field##_size)
#define B(field) Bytes(#field, a.field##_size)
#define L(field, count) List(#field, a.field, a.count)
#define H(type, dims, num_dims) ShapeField(a.type, a.dims, a.num_dims)
#define SHOAL_TRACE(name, inputs, outputs)                                                  \
  template <>                                                                               \
  [[maybe_unused]] void Inputs<entry::name>(const entry::name::Args& a, TraceLine& line) {  \
    (void)(line inputs);                                                                    \
  }                                                                                         \
  template <>                                                                               \
  [[maybe_unused]] void Outputs<entry::name>(const entry::name::Args& a, TraceLine& line) { \
    (void)(line outputs);                                                                   \
  }
SHOAL_TRACE_LIST(SHOAL_TRACE)
#undef SHOAL_TRACE
#undef F
#undef S
#undef B
#undef L
#undef H

// PJRT_Client_Create -> Client.Create
std::string Title(absl::string_view name) {
  std::string title(name.substr(sizeof("PJRT_") - 1));
  if (size_t mark = title.find('_'); mark != std::string::npos) title[mark] = '.';
  return title;
}

// The argument struct's only handle, for entries that destroy it.
template <typename Args>
const void* DestroyedHandle(const Args& args) {
  return *reinterpret_cast<void* const*>(&args.extension_start + 1);
}

template <typename Entry>
PJRT_Error* TracedEntry(typename Entry::Args* args) {
  TraceLine inputs, outputs;
  Inputs<Entry>(*args, inputs);
  const std::string title = Title(Entry::kName);
  const void* destroyed = title.find(".Destroy") != std::string::npos ? DestroyedHandle(*args) : nullptr;
  const Clock::time_point begin = Clock::now();
  PJRT_Error* error = (real_api->*Entry::kField)(args);
  const Clock::time_point end = Clock::now();
  if (error == nullptr) Outputs<Entry>(*args, outputs);
  if (destroyed != nullptr) ForgetHandle(destroyed);
  std::string result = error != nullptr ? ToStatus(error).ToString() : outputs.text();
  std::string line = absl::StrFormat("shoal trace %9.3f ms  %s(%s)%s%s  (%.1f us)\n",
                                     Microseconds(begin - start_time) / 1000, title, inputs.text(),
                                     result.empty() ? "" : " -> ", result, Microseconds(end - begin));
  std::fwrite(line.data(), 1, line.size(), stderr);
  return error;
}

}  // namespace

const PJRT_Api* TracedApi(const PJRT_Api* untraced) {
  static const PJRT_Api traced = [untraced] {
    real_api = untraced;
    PJRT_Api api = *untraced;
#define SHOAL_TRACED(name, field) api.*entry::name::kField = &TracedEntry<entry::name>;
    SHOAL_PJRT_ENTRY_LIST(SHOAL_TRACED)
#undef SHOAL_TRACED
    return api;
  }();
  return &traced;
}

}  // namespace shoal
