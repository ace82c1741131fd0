// The layout of help texts: paragraphs and lists of two columns.
#ifndef BANYAN_EXPERIMENTS_COMMANDS_SHARED_HELP_H_
#define BANYAN_EXPERIMENTS_COMMANDS_SHARED_HELP_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace banyan {

inline constexpr int kHelpColumns = 80;

// A command or an option as it is typed, and what it does.
struct HelpRow {
  std::string name;
  std::string text;
};

// Returns `text` in lines of at most kHelpColumns.
std::string HelpParagraph(absl::string_view text);

// Returns an empty line, `heading`, and the rows: the names after two spaces,
// the texts beside them from `column` on, in lines of at most kHelpColumns. A
// name that leaves no two spaces before `column` has a line of its own. Returns
// "" without rows.
std::string HelpList(absl::string_view heading, absl::Span<const HelpRow> rows,
                     int column);

// Returns "a, b or c".
std::string Alternatives(const std::vector<std::string>& words);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_COMMANDS_SHARED_HELP_H_
