// Texts for a terminal: how wide they are, their lines, and words of a shell.
#ifndef BANYAN_CORE_TERMINAL_COLUMNS_H_
#define BANYAN_CORE_TERMINAL_COLUMNS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace banyan {

// Texts of any origin made fit for a terminal or a drawing, and how wide they
// are there.

// Valid UTF-8 without control characters: those below 32 and 127 become their
// Unicode pictures (a line feed U+240A), all else that may not stand in XML,
// and bytes that are not UTF-8, become U+FFFD.
std::string Printable(absl::string_view text);

// `text` as a terminal may be given it: control characters, bytes that are not
// UTF-8 and the marks that turn the direction of writing are spelt out, as in
// \n, \x1b and \u202e. All else stays.
std::string Visible(absl::string_view text);
// The same for a text of several lines, whose ends stay.
std::string VisibleLines(absl::string_view text);

// The columns that Printable(text) takes in a fixed-width font: combining marks
// none, wide characters of East Asia and emoji two.
int Columns(absl::string_view text);

// Returns `text`, padded with spaces at its end to at least `columns` columns.
std::string Padded(std::string text, int columns);

// Texts in lines of limited width.

// Returns the words of `text` in as few lines as take at most `columns`
// columns each, with a space between words. A word that is wider than that has
// a line of its own. A text without words has no line.
std::vector<std::string> Wrapped(absl::string_view text, int columns);

// Words of a shell's command line.

// Returns `text` as a POSIX shell reads it as one word: as it is, or in quotes
// if a sign in it means something to a shell.
std::string ShellWord(absl::string_view text);

}  // namespace banyan

#endif  // BANYAN_CORE_TERMINAL_COLUMNS_H_
