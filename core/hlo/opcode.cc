#include "core/hlo/opcode.h"

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace shoal {
namespace {

enum OpFlags : uint8_t {
  kNone = 0,
  kCommutative = 1,
  kCrossDevice = 2,
  kHasRegion = 4,
  kSideEffect = 8,
  kTranscendental = 16,
};

struct Row {
  absl::string_view name;
  int arity;
  OpFamily family;
  int flags;
};

constexpr Row kRows[] = {
#define SHOAL_ROW(name, text, arity, family, flags) {text, arity, OpFamily::family, flags},
    HLO_OP_LIST(SHOAL_ROW)
#undef SHOAL_ROW
};

constexpr Opcode kOpcodes[] = {
#define SHOAL_OPCODE(name, text, arity, family, flags) Opcode::name,
    HLO_OP_LIST(SHOAL_OPCODE)
#undef SHOAL_OPCODE
};

const Row& RowOf(Opcode opcode) { return kRows[static_cast<int>(opcode)]; }

}  // namespace

absl::string_view OpcodeName(Opcode opcode) { return RowOf(opcode).name; }
absl::Span<const Opcode> AllOpcodes() { return kOpcodes; }
int OpcodeArity(Opcode opcode) { return RowOf(opcode).arity; }
OpFamily FamilyOf(Opcode opcode) { return RowOf(opcode).family; }
bool IsCommutative(Opcode opcode) { return RowOf(opcode).flags & kCommutative; }
bool IsCrossDevice(Opcode opcode) { return RowOf(opcode).flags & kCrossDevice; }
bool HasSideEffect(Opcode opcode) { return RowOf(opcode).flags & kSideEffect; }
bool CallsComputations(Opcode opcode) { return RowOf(opcode).flags & kHasRegion; }
bool IsTranscendental(Opcode opcode) { return RowOf(opcode).flags & kTranscendental; }

absl::StatusOr<Opcode> ParseOpcode(absl::string_view name) {
  static const auto* by_name = [] {
    auto* map = new absl::flat_hash_map<absl::string_view, Opcode>();
    for (Opcode opcode : kOpcodes) map->emplace(OpcodeName(opcode), opcode);
    return map;
  }();
  auto it = by_name->find(name);
  if (it == by_name->end())
    return absl::UnimplementedError(absl::StrCat("operation \"", name, "\" is not supported"));
  return it->second;
}

std::ostream& operator<<(std::ostream& out, Opcode opcode) { return out << OpcodeName(opcode); }

}  // namespace shoal
