#include "core/base/nearest.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
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
  a = a.substr(0, kLongestCompared);
  b = b.substr(0, kLongestCompared);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row.back();
}

}  // namespace

absl::string_view Nearest(absl::string_view name,
                          absl::Span<const absl::string_view> known) {
  const auto best =
      std::min_element(known.begin(), known.end(),
                       [&](absl::string_view a, absl::string_view b) {
                         return EditDistance(name, a) < EditDistance(name, b);
                       });
  return best == known.end() ? absl::string_view() : *best;
}

std::string UnknownName(absl::string_view what, absl::string_view name,
                        absl::Span<const absl::string_view> known) {
  std::string message = absl::StrCat("unknown ", what, " '", name, "'");
  if (known.empty()) return message;
  absl::StrAppend(&message, "; did you mean '", Nearest(name, known),
                  "'? known: ", absl::StrJoin(known, ", "));
  return message;
}

}  // namespace banyan
