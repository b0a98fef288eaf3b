// Programs without a compiler: results[i] = parameters[i] + 1 over f32 arrays, at once or when the test says
// so.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/runtime/program.h"
#include "plugin/client/executable.h"

namespace shoal {

class AddOneProgram : public Program {
 public:
  AddOneProgram(std::vector<Shape> shapes, std::vector<int> donors)
      : shapes_(std::move(shapes)), donors_(donors) {
    donors_.resize(shapes_.size(), -1);
  }
  absl::Span<const Shape> parameter_shapes() const override { return shapes_; }
  absl::Span<const Shape> result_shapes() const override { return shapes_; }
  absl::Span<const int> result_donors() const override { return donors_; }
  absl::Span<const int> released_parameters() const override { return {}; }
  bool has_collectives() const override { return false; }
  bool lets_others_read_on() const override { return reads_on_; }
  bool is_small() const override { return !held_; }
  int64_t temp_bytes() const override { return 0; }
  int64_t code_bytes() const override { return 64; }

  Future Start(RunContext context) const override {
    if (reads_on_) keeper_ = context.keeper;
    if (!held_) return Run(context);
    auto promise = std::make_shared<Promise>();
    std::lock_guard<std::mutex> lock(mutex_);
    pending_.push_back([this, promise, context = std::move(context)](const absl::Status& status) {
      promise->Set(status.ok() ? Run(context) : status);
    });
    return promise->future();
  }

  // Others read the memory of the last run until StopReading.
  void ReadOn() { reads_on_ = true; }
  void StopReading() { keeper_ = nullptr; }
  // From here on runs wait for Release.
  void Hold() { held_ = true; }
  size_t pending() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return pending_.size();
  }
  // Ends the oldest pending run, with `status` or with its results.
  void Release(const absl::Status& status = absl::OkStatus()) {
    std::function<void(const absl::Status&)> run;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      run = std::move(pending_.front());
      pending_.erase(pending_.begin());
    }
    run(status);
  }

 private:
  absl::Status Run(const RunContext& context) const {
    for (size_t i = 0; i < shapes_.size(); ++i) {
      const float* in = static_cast<const float*>(context.parameters[i]);
      float* out = static_cast<float*>(context.results[i]);
      for (int64_t e = 0; e < shapes_[i].ByteSize() / 4; ++e) out[e] = in[e] + 1;
    }
    return absl::OkStatus();
  }

  std::vector<Shape> shapes_;
  std::vector<int> donors_;
  bool held_ = false, reads_on_ = false;
  mutable std::shared_ptr<const void> keeper_;
  mutable std::mutex mutex_;
  mutable std::vector<std::function<void(const absl::Status&)>> pending_;
};

inline CompiledModule CompiledFrom(std::shared_ptr<const Program> program) {
  CompiledModule module;
  module.name = "jit_add_one";
  for (const Shape& shape : program->parameter_shapes()) module.parameters.push_back({shape, shape});
  for (const Shape& shape : program->result_shapes()) module.results.push_back({shape, shape});
  module.fingerprint = 42;
  module.program = std::move(program);
  return module;
}

}  // namespace shoal
