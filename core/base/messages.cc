#include "core/base/messages.h"

#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"

namespace banyan {

std::string Shown(absl::string_view name) {
  constexpr std::size_t kShown = 80;
  return absl::StrCat(absl::CHexEscape(name.substr(0, kShown)),
                      name.size() > kShown ? "..." : "");
}

std::string QuotedName(absl::string_view name) {
  return absl::StrCat("'", Shown(name), "'");
}

namespace {

struct Unit {
  absl::string_view name;
  double bytes;
};
constexpr Unit kUnits[] = {{"", 1},         {"B", 1},        {"KB", 1e3},
                           {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},
                           {"KIB", 0x1p10}, {"MIB", 0x1p20}, {"GIB", 0x1p30},
                           {"TIB", 0x1p40}};
constexpr double kMost = 0x1p62;

}  // namespace

absl::StatusOr<std::uint64_t> ParseByteSize(absl::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789.");
  const absl::string_view digits = text.substr(0, end);
  const std::string unit = absl::AsciiStrToUpper(absl::StripAsciiWhitespace(
      end == absl::string_view::npos ? "" : text.substr(end)));
  double number = 0;
  if (absl::SimpleAtod(digits, &number))
    for (const Unit& each : kUnits)
      if (unit == each.name && number * each.bytes >= 1 &&
          number * each.bytes <= kMost)
        return static_cast<std::uint64_t>(number * each.bytes);
  return absl::InvalidArgumentError(absl::StrCat(
      "expected a size such as 600MB or 1.5GB, found ", QuotedName(text)));
}

namespace {

// Longer names are compared by their first letters only, to bound the work.
constexpr std::size_t kLongestCompared = 64;

std::size_t EditDistance(absl::string_view a, absl::string_view b) {
  using Row = std::vector<std::size_t>;  // by letters of b
  Row before;                            // of two letters of a less
  Row last;                              // of one less
  Row row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, std::exchange(row, Row(b.size() + 1, i)));
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

absl::string_view Nearest(absl::string_view name,
                          absl::Span<const absl::string_view> known) {
  name = name.substr(0, kLongestCompared);
  absl::string_view nearest;
  std::size_t fewest = name.size() + kLongestCompared;
  for (const absl::string_view candidate : known) {
    const absl::string_view compared = candidate.substr(0, kLongestCompared);
    const std::size_t edits = EditDistance(name, compared);
    if (edits >= fewest || 3 * edits > std::max(name.size(), compared.size()))
      continue;
    fewest = edits;
    nearest = candidate;
  }
  return nearest;
}

std::string UnknownName(absl::string_view what, absl::string_view name,
                        absl::Span<const absl::string_view> known) {
  std::string message = absl::StrCat("unknown ", what, " '", name, "'");
  const absl::string_view nearest = Nearest(name, known);
  if (!nearest.empty())
    absl::StrAppend(&message, "; did you mean '", nearest, "'?");
  if (!known.empty())
    absl::StrAppend(&message, nearest.empty() ? "; " : " ",
                    "known: ", absl::StrJoin(known, ", "));
  return message;
}

namespace {

absl::Status (*stop_asker)() = nullptr;

}  // namespace

void SetStop(absl::Status (*ask)()) { stop_asker = ask; }

absl::Status AskStop() {
  return stop_asker == nullptr ? absl::OkStatus() : stop_asker();
}

}  // namespace banyan
