#include "absl/strings/str_cat.h"
#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"

namespace shoal {

// The third operand repeats the shape of the result.
absl::Status ImportRng(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(3));
  SHOAL_ASSIGN_OR_RETURN(absl::string_view distribution, c.Text("rng_distribution"));
  RngAttributes attributes;
  if (distribution == "UNIFORM") {
    attributes.distribution = RandomDistribution::kUniform;
  } else if (distribution == "NORMAL") {
    attributes.distribution = RandomDistribution::kNormal;
  } else {
    return c.Error(absl::StrCat("the distribution ", distribution));
  }
  return c.Emit(Opcode::kRng, c.operands().subspan(0, 2), attributes);
}

absl::Status ImportRngBitGenerator(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1, 2));
  SHOAL_ASSIGN_OR_RETURN(absl::string_view algorithm, c.TextOr("rng_algorithm", "DEFAULT"));
  RngAttributes attributes;
  if (algorithm == "THREE_FRY") {
    attributes.algorithm = RandomAlgorithm::kThreeFry;
  } else if (algorithm == "PHILOX") {
    attributes.algorithm = RandomAlgorithm::kPhilox;
  } else if (algorithm != "DEFAULT") {
    return c.Error(absl::StrCat("the algorithm ", algorithm));
  }
  return c.Emit(Opcode::kRngBitGenerator, c.operands(), attributes);
}

}  // namespace shoal
