// Which function gives the rule of which family: expanded from HLO_FAMILY_LIST, so a family without a rule
// does not link. Each is defined in <stem>.cc; families that share the default are defined in replicated.cc.
#include "sharding/rules/rule.h"

namespace shoal {

#define SHOAL_DECLARE(Family, stem) FactorRule stem##_rule(const Instruction& instruction);
HLO_FAMILY_LIST(SHOAL_DECLARE)
#undef SHOAL_DECLARE

FactorRule RuleFor(const Instruction& instruction) {
  using Rule = FactorRule (*)(const Instruction&);
  static constexpr Rule kRules[] = {
#define SHOAL_ROW(Family, stem) stem##_rule,
      HLO_FAMILY_LIST(SHOAL_ROW)
#undef SHOAL_ROW
  };
  return kRules[static_cast<size_t>(FamilyOf(instruction.opcode()))](instruction);
}

}  // namespace shoal
