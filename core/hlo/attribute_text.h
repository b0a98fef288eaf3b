// Attributes as HLO text: "dimensions={0}, direction=LT". One description a kind of attributes serves writing
// and reading.
//
// The default spelling follows ForEachField (attributes.h); kinds that XLA spells otherwise have a
// description of their own.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/hlo/attributes.h"
#include "core/hlo/opcode.h"
#include "core/hlo/sharding_text.h"
#include "core/hlo/text_cursor.h"

namespace shoal {

// The alternative of Attributes that instructions of `opcode` have, with default fields.
Attributes DefaultAttributes(Opcode opcode);
// Its index in the variant.
size_t AttributeKind(Opcode opcode);

// ", name=value" for every field that is required or not at its default. Nothing for constants, parameters.
std::string AttributesToText(Opcode opcode, const Attributes& attributes);

// "name=value" as found in the text, the value not read yet.
struct AttributeText {
  absl::string_view name;
  TextCursor value;
};

// Reads the attributes of `opcode`, removing from `items` what it has used.
absl::StatusOr<Attributes> AttributesFromText(Opcode opcode, std::vector<AttributeText>& items,
                                              ShardingReader& shardings, const TextCursor& place);

}  // namespace shoal
