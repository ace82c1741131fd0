#include "core/base/nearest.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace banyan {
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

}  // namespace banyan
