// What tests of the C API have in place of the compiler and of the network.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "collectives/communicator/collective_world.h"
#include "core/base/status.h"
#include "plugin/compile/compiler.h"
#include "tests/plugin/client/test_program.h"

namespace shoal {

// "add_one f32[3] f32[2,2]" adds one to each of its arguments; "donating f32[3]" takes their memory too.
absl::StatusOr<CompiledModule> Compile(const CompileRequest& request) {
  std::vector<std::string> words = absl::StrSplit(request.program, ' ');
  if (words[0] != "add_one" && words[0] != "donating") {
    return absl::InvalidArgumentError(absl::StrCat("no program: ", request.program));
  }
  std::vector<Shape> shapes;
  std::vector<int> donors;
  for (size_t i = 1; i < words.size(); ++i) {
    SHOAL_ASSIGN_OR_RETURN(Shape shape, Shape::Parse(words[i]));
    donors.push_back(words[0] == "donating" ? static_cast<int>(i) - 1 : -1);
    shapes.push_back(std::move(shape));
  }
  return CompiledFrom(std::make_shared<AddOneProgram>(std::move(shapes), std::move(donors)));
}

absl::StatusOr<CollectiveOptions> CollectiveOptions::FromFlags() { return CollectiveOptions(); }

namespace {

class NoWorld : public CollectiveWorld {
 public:
  absl::StatusOr<std::shared_ptr<Communicator>> GetCommunicator(absl::Span<const DeviceId>) override {
    return absl::UnimplementedError("no communication in this test");
  }
  absl::StatusOr<std::shared_ptr<Communicator>> GetCommunicatorWith(absl::Span<const DeviceId>,
                                                                    absl::string_view) override {
    return absl::UnimplementedError("no communication in this test");
  }
  void ProcessFailed(ProcessId, const absl::Status&) override {}
  bool Leave(absl::string_view, absl::Duration) override { return false; }
  absl::Status Health() const override { return absl::OkStatus(); }
};

}  // namespace

absl::StatusOr<std::unique_ptr<CollectiveWorld>> CollectiveWorld::Create(const Topology&, KeyValueStore*,
                                                                         const CollectiveOptions&) {
  return std::make_unique<NoWorld>();
}

}  // namespace shoal
