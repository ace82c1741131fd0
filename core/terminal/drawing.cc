#include "core/terminal/drawing.h"

#include "absl/strings/str_replace.h"
#include "core/base/common.h"
#include "core/terminal/columns.h"

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

std::string XmlEscaped(absl::string_view text) {
  return absl::StrReplaceAll(Printable(text), {{"&", "&amp;"},
                                               {"<", "&lt;"},
                                               {">", "&gt;"},
                                               {"\"", "&quot;"},
                                               {"'", "&apos;"}});
}

}  // namespace banyan
