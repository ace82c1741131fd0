#include "experiments/commands/shared/help.h"

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/text/columns.h"
#include "core/text/wrapped.h"

namespace banyan {

std::string HelpParagraph(absl::string_view text) {
  std::string paragraph;
  for (const std::string& line : Wrapped(text, kHelpColumns))
    absl::StrAppend(&paragraph, line, "\n");
  return paragraph;
}

std::string HelpList(absl::string_view heading, absl::Span<const HelpRow> rows,
                     int column) {
  if (rows.empty()) return "";
  std::string list = absl::StrCat("\n", heading, ":\n");
  for (const HelpRow& row : rows) {
    std::string beside = absl::StrCat("  ", row.name);
    if (Columns(beside) + 2 > column && !row.text.empty()) {
      absl::StrAppend(&list, beside, "\n");
      beside.clear();
    }
    const std::vector<std::string> lines =
        Wrapped(row.text, kHelpColumns - column);
    if (lines.empty()) absl::StrAppend(&list, beside, "\n");
    for (const std::string& line : lines) {
      absl::StrAppend(&list, Padded(beside, column), line, "\n");
      beside.clear();
    }
  }
  return list;
}

std::string Alternatives(const std::vector<std::string>& words) {
  std::string all;
  for (std::size_t i = 0; i < words.size(); ++i)
    absl::StrAppend(&all,
                    i == 0                  ? ""
                    : i + 1 == words.size() ? " or "
                                            : ", ",
                    words[i]);
  return all;
}

}  // namespace banyan
