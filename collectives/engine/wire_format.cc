#include "collectives/engine/wire_format.h"

#include <algorithm>
#include <cstring>

#include "core/base/fingerprint.h"

namespace shoal {
namespace {

// Never renumber.
constexpr uint32_t kAnnouncement = 1, kAbort = 2, kQuestion = 3, kAnswer = 4, kGoodbye = 5, kHindrance = 6;
// Longer texts are cut, so that every control frame is eager on every wire.
constexpr size_t kMaxText = 900;

struct AnnouncementFields {
  uint32_t kind;
  uint32_t text_bytes;
  CollectiveKey key;
  uint64_t program;
  uint64_t operation;
};
static_assert(sizeof(AnnouncementFields) == 4 + 4 + 5 * 8 + 8 + 8);

struct AbortFields {
  uint32_t kind;
  uint32_t text_bytes;
  ProgramRun run;
  int64_t code;
};
static_assert(sizeof(AbortFields) == 4 + 4 + 2 * 8 + 8);

struct QuestionFields {
  uint32_t kind;
  uint32_t text_bytes;
  CollectiveKey key;
  uint64_t program;
};
static_assert(sizeof(QuestionFields) == 4 + 4 + 5 * 8 + 8);

struct AnswerFields {
  uint32_t kind;
  uint32_t text_bytes;
  CollectiveKey asked_for;
  uint64_t program;
  ProgramRun waits_in;
  CollectiveKey instead;
  uint8_t expected, over, one_thread, waits, waits_for_you, hindered, needs_you;
  uint8_t zeros[1];
};
static_assert(sizeof(AnswerFields) == 4 + 4 + 5 * 8 + 8 + 2 * 8 + 5 * 8 + 7 + 1);

struct HindranceFields {
  uint32_t kind;
  uint32_t text_bytes;
  int64_t waits;
  CollectiveKey waits_in;
  int64_t awaited;
  CollectiveKey instead;
};
static_assert(sizeof(HindranceFields) == 4 + 4 + 2 * (8 + 5 * 8));

struct GoodbyeFields {
  uint32_t kind;
  uint32_t text_bytes;
  uint64_t is_missed;  // what the text is
};
static_assert(sizeof(GoodbyeFields) == 4 + 4 + 8);

template <typename Fields>
std::vector<char> Join(Fields fields, absl::string_view text) {
  text = text.substr(0, kMaxText);
  fields.text_bytes = static_cast<uint32_t>(text.size());
  std::vector<char> bytes(sizeof(fields) + text.size());
  std::memcpy(bytes.data(), &fields, sizeof(fields));
  std::copy(text.begin(), text.end(), bytes.begin() + sizeof(fields));
  return bytes;
}

template <typename Fields>
bool Split(absl::Span<const char> bytes, uint32_t kind, Fields* fields, std::string* text) {
  if (bytes.size() < sizeof(*fields)) return false;
  std::memcpy(fields, bytes.data(), sizeof(*fields));
  if (fields->kind != kind || bytes.size() != sizeof(*fields) + fields->text_bytes) return false;
  text->assign(bytes.data() + sizeof(*fields), fields->text_bytes);
  return true;
}

}  // namespace

uint64_t CollectiveKey::Hash() const {
  static_assert(sizeof(*this) == 5 * sizeof(int64_t));  // without gaps
  const uint64_t hash = FingerprintOfData({reinterpret_cast<const char*>(this), sizeof(*this)});
  return hash == 0 ? 1 : hash;
}

std::vector<char> Encode(const Announcement& announcement) {
  return Join(
      AnnouncementFields{kAnnouncement, 0, announcement.key, announcement.program, announcement.operation},
      announcement.name);
}

std::vector<char> Encode(const AbortNotice& notice) {
  return Join(AbortFields{kAbort, 0, notice.run, notice.why.raw_code()}, notice.why.message());
}

std::vector<char> Encode(const Question& question) {
  return Join(QuestionFields{kQuestion, 0, question.key, question.program}, "");
}

std::vector<char> Encode(const Answer& answer) {
  return Join(AnswerFields{kAnswer,
                           0,
                           answer.question.key,
                           answer.question.program,
                           answer.waits_in,
                           answer.instead,
                           answer.expected,
                           answer.over,
                           answer.one_thread,
                           answer.waits,
                           answer.waits_for_you,
                           answer.hindered,
                           answer.needs_you,
                           {}},
              answer.doing);
}

std::vector<char> Encode(const Hindrance& hindrance) {
  return Join(HindranceFields{kHindrance, 0, hindrance.waits, hindrance.waits_in, hindrance.awaited,
                              hindrance.instead},
              hindrance.doing);
}

std::vector<char> Encode(const Goodbye& goodbye) {
  return Join(GoodbyeFields{kGoodbye, 0, !goodbye.missed.empty()},
              goodbye.missed.empty() ? goodbye.why : goodbye.missed);
}

bool Decode(absl::Span<const char> bytes, Announcement* announcement) {
  AnnouncementFields fields;
  if (!Split(bytes, kAnnouncement, &fields, &announcement->name)) return false;
  announcement->key = fields.key;
  announcement->program = fields.program;
  announcement->operation = fields.operation;
  return true;
}

bool Decode(absl::Span<const char> bytes, AbortNotice* notice) {
  AbortFields fields;
  std::string text;
  if (!Split(bytes, kAbort, &fields, &text) || fields.code == 0) return false;  // an abort has a cause
  notice->run = fields.run;
  notice->why = absl::Status(static_cast<absl::StatusCode>(fields.code), text);
  return true;
}

bool Decode(absl::Span<const char> bytes, Question* question) {
  QuestionFields fields;
  std::string text;
  if (!Split(bytes, kQuestion, &fields, &text)) return false;
  question->key = fields.key;
  question->program = fields.program;
  return true;
}

bool Decode(absl::Span<const char> bytes, Answer* answer) {
  AnswerFields fields;
  if (!Split(bytes, kAnswer, &fields, &answer->doing)) return false;
  answer->question = {fields.asked_for, fields.program};
  answer->waits_in = fields.waits_in;
  answer->instead = fields.instead;
  answer->expected = fields.expected != 0;
  answer->over = fields.over != 0;
  answer->one_thread = fields.one_thread != 0;
  answer->waits = fields.waits != 0;
  answer->waits_for_you = fields.waits_for_you != 0;
  answer->hindered = fields.hindered != 0;
  answer->needs_you = fields.needs_you != 0;
  return true;
}

bool Decode(absl::Span<const char> bytes, Hindrance* hindrance) {
  HindranceFields fields;
  if (!Split(bytes, kHindrance, &fields, &hindrance->doing)) return false;
  hindrance->waits = fields.waits;
  hindrance->waits_in = fields.waits_in;
  hindrance->awaited = fields.awaited;
  hindrance->instead = fields.instead;
  return fields.waits_in.run == fields.instead.run;
}

bool Decode(absl::Span<const char> bytes, Goodbye* goodbye) {
  GoodbyeFields fields;
  std::string text;
  if (!Split(bytes, kGoodbye, &fields, &text)) return false;
  (fields.is_missed != 0 ? goodbye->missed : goodbye->why) = text;
  return true;
}

}  // namespace shoal
