#include "core/text/wrapped.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "core/text/columns.h"

namespace banyan {

std::vector<std::string> Wrapped(absl::string_view text, int columns) {
  std::vector<std::string> lines;
  int taken = 0;  // of the last line
  for (const absl::string_view word :
       absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
    const int width = Columns(word);
    if (lines.empty() || taken + 1 + width > columns) {
      lines.emplace_back(word);
      taken = width;
    } else {
      absl::StrAppend(&lines.back(), " ", word);
      taken += 1 + width;
    }
  }
  return lines;
}

}  // namespace banyan
