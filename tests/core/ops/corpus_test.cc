// tests/ops holds one small module an operation. Each one verifies; with a dimension of its result changed it
// does not.
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/str_replace.h"
#include "core/hlo/parser.h"
#include "core/hlo/printer.h"
#include "core/ops/shape_inference.h"
#include "core/ops/verify.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

std::string ReadFile(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(OpsCorpus, EveryOperationHasAModuleThatVerifies) {
  for (Opcode opcode : AllOpcodes()) {
    const std::string stem = absl::StrReplaceAll(OpcodeName(opcode), {{"-", "_"}});
    SCOPED_TRACE(stem);
    const auto path = std::filesystem::path(SHOAL_OPS_DIR) / (stem + ".hlo");
    ASSERT_TRUE(std::filesystem::exists(path)) << "tests/ops/" << stem << ".hlo is missing";
    const auto module = ParseHloText(ReadFile(path));
    ASSERT_TRUE(module.ok()) << module.status();
    EXPECT_TRUE(Verify(**module).ok()) << Verify(**module);
    bool found = false;
    for (const Computation* computation : (*module)->computations()) {
      for (const Instruction* instruction : computation->instructions())
        found |= instruction->opcode() == opcode;
    }
    EXPECT_TRUE(found) << "the module does not contain its operation";
  }
}

// Operations that take their shape as it is written.
const std::set<Opcode> kFreeShape = {
    Opcode::kParameter, Opcode::kCustomCall,      Opcode::kInfeed,           Opcode::kIota,
    Opcode::kRng,       Opcode::kRngBitGenerator, Opcode::kManualComputation};

TEST(OpsCorpus, AWrongShapeIsFound) {
  for (Opcode opcode : AllOpcodes()) {
    if (kFreeShape.contains(opcode)) continue;
    const std::string stem = absl::StrReplaceAll(OpcodeName(opcode), {{"-", "_"}});
    SCOPED_TRACE(stem);
    const auto module = ParseHloText(ReadFile(std::filesystem::path(SHOAL_OPS_DIR) / (stem + ".hlo")));
    ASSERT_TRUE(module.ok());
    Instruction* root = (*module)->entry()->root();
    root->set_shape(Shape::Array(ElementType::kF32, {1, 2, 3, 4, 17}));
    EXPECT_FALSE(Verify(**module).ok());
  }
}

}  // namespace
}  // namespace shoal
