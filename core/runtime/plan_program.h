// PlanProgram: the Program that is a plan over native code, collectives and custom calls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/codegen/kernel.h"
#include "core/memory/slice.h"
#include "core/runtime/plan.h"
#include "core/runtime/program.h"

namespace shoal {

class Timeline;

// What core/lower makes of a module.
struct ProgramParts {
  std::string name;
  std::vector<Shape> parameter_shapes, result_shapes;
  std::vector<int> result_donors, released_parameters;
  Plan plan{{}};
  int64_t num_partitions = 1;  // of each replica
  int64_t collective_count = 0;
  std::vector<HostChannel> host_channels;
  bool has_effects = false;
  int64_t temp_bytes = 0;
  std::string constants;
  std::shared_ptr<const void> code;  // keeps what native steps call
  int64_t code_bytes = 0;
};

class PlanProgram : public Program, public std::enable_shared_from_this<PlanProgram> {
 public:
  static std::shared_ptr<const PlanProgram> Create(ProgramParts parts);
  bool may_pass_over_collectives() const { return may_pass_over_collectives_; }
  ~PlanProgram() override;

  absl::Span<const Shape> parameter_shapes() const override { return parts_.parameter_shapes; }
  absl::Span<const Shape> result_shapes() const override { return parts_.result_shapes; }
  absl::Span<const int> result_donors() const override { return parts_.result_donors; }
  absl::Span<const int> released_parameters() const override { return parts_.released_parameters; }
  bool has_collectives() const override { return parts_.collective_count > 0; }
  absl::Span<const HostChannel> host_channels() const override { return parts_.host_channels; }
  bool has_effects() const override { return parts_.has_effects; }
  bool calls_out() const override { return calls_out_; }
  bool lets_others_read_on() const override { return lets_others_read_on_; }
  bool is_small() const override { return is_small_; }
  int64_t temp_bytes() const override { return parts_.temp_bytes; }
  int64_t code_bytes() const override { return parts_.code_bytes; }
  Future Start(RunContext context) const override;

  const Plan& plan() const { return parts_.plan; }

 private:
  explicit PlanProgram(ProgramParts parts);
  void LetOthersReadOn();
  Future StartNow(RunContext context) const;
  Future Recorded(Timeline& timeline, RunContext context) const;  // the same, with an entry in the timeline
  RunInfo InfoOf(const RunContext& context) const;
  void FillBases(const RunContext& context, RunInfo* info, char* temp, char** bases) const;
  Future RunInline(const RunContext& context, char* temp) const;
  int64_t base_count() const;

  const ProgramParts parts_;
  char* constants_ = nullptr;  // aligned to 64 bytes
  bool is_small_ = false;
  bool calls_out_ = false;
  bool lets_others_read_on_ = false, temp_is_read_on_ = false;
  bool may_pass_over_collectives_ = false;
  bool ends_at_once_ = false;  // is small, and one step that never waits
};

}  // namespace shoal
