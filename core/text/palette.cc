#include "core/text/palette.h"

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace banyan {

std::string SeriesRules(absl::string_view within, bool dark) {
  std::string rules;
  for (std::size_t i = 0; i < kSeriesColours.size(); ++i)
    absl::StrAppend(&rules, within, ".", SeriesClass(i), "{color:",
                    dark ? kSeriesColours[i].dark : kSeriesColours[i].light,
                    "}\n");
  return rules;
}

std::string SeriesClass(std::size_t series) {
  return absl::StrCat("s", series % kSeriesColours.size() + 1);
}

}  // namespace banyan
