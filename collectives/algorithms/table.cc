#include "collectives/algorithms/table.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"

namespace shoal {
namespace {

constexpr absl::string_view kFirstLine = "shoal-table 1";
constexpr absl::string_view kArrangements[] = {"one-host", "own-hosts", "shared-hosts"};

const Algorithm* AlgorithmOf(absl::string_view collective, absl::string_view name) {
  for (const Algorithm& algorithm : AllAlgorithms()) {
    if (CollectiveName(algorithm.collective) == collective && algorithm.name == name) return &algorithm;
  }
  return nullptr;
}

// False if the words are no row.
bool ParseRow(const std::vector<absl::string_view>& words, AlgorithmTable::Row* row) {
  if (words.size() != 5) return false;
  row->algorithm = AlgorithmOf(words[0], words[4]);
  if (row->algorithm == nullptr) return false;
  row->collective = row->algorithm->collective;
  row->arrangement = std::string(words[1]);
  if (std::find(std::begin(kArrangements), std::end(kArrangements), words[1]) == std::end(kArrangements))
    return false;
  if (!absl::SimpleAtoi(words[2], &row->ranks) || row->ranks < 2) return false;
  row->up_to = std::numeric_limits<int64_t>::max();
  return words[3] == "-" || (absl::SimpleAtoi(words[3], &row->up_to) && row->up_to >= 0);
}

double Ratio(int a, int b) { return a < b ? static_cast<double>(b) / a : static_cast<double>(a) / b; }

}  // namespace

absl::string_view ArrangementName(const Situation& situation) {
  return kArrangements[situation.one_host() ? 0 : situation.shares_hosts() ? 2 : 1];
}

absl::StatusOr<AlgorithmTable> AlgorithmTable::Parse(absl::string_view text) {
  AlgorithmTable table;
  table.text_ = std::string(text);
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (number == 1 && line != kFirstLine) {
      return absl::InvalidArgumentError(
          absl::StrCat("a table of algorithms begins with the line '", kFirstLine, "', not '", line, "'"));
    }
    const absl::string_view content = line.substr(0, line.find('#'));
    const std::vector<absl::string_view> words =
        absl::StrSplit(content, absl::ByAnyChar(" \t\r"), absl::SkipWhitespace());
    if (number == 1 || words.empty()) continue;
    Row row;
    row.line = number;
    if (!ParseRow(words, &row)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "line ", number, " of the table of algorithms: '", line,
          "' is not COLLECTIVE one-host|own-hosts|shared-hosts PROCESSES BYTES|- ALGORITHM; an error here "
          "may also be an algorithm that this collective has not"));
    }
    table.rows_.push_back(std::move(row));
  }
  // Of one collective, arrangement and number of processes the small sizes first.
  std::stable_sort(table.rows_.begin(), table.rows_.end(),
                   [](const Row& a, const Row& b) { return a.up_to < b.up_to; });
  return table;
}

absl::StatusOr<AlgorithmTable> AlgorithmTable::Load(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return absl::NotFoundError(absl::StrCat("SHOAL_TUNING: cannot read '", path, "'"));
  absl::StatusOr<AlgorithmTable> table = Parse(text.str());
  if (!table.ok()) return Annotate(table.status(), absl::StrCat("SHOAL_TUNING=", path));
  return table;
}

const AlgorithmTable::Row* AlgorithmTable::Find(CollectiveKind collective, const Situation& situation) const {
  const absl::string_view arrangement = ArrangementName(situation);
  const Row* best = nullptr;
  for (const Row& row : rows_) {
    if (row.collective != collective || row.arrangement != arrangement || situation.bytes > row.up_to)
      continue;
    const bool nearer =
        best == nullptr || Ratio(row.ranks, situation.ranks) < Ratio(best->ranks, situation.ranks);
    if (nearer) best = &row;
  }
  return best;
}

}  // namespace shoal
