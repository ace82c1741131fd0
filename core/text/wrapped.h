// Texts in lines of limited width.
#ifndef BANYAN_CORE_TEXT_WRAPPED_H_
#define BANYAN_CORE_TEXT_WRAPPED_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace banyan {

// Returns the words of `text` in as few lines as take at most `columns`
// columns each, with a space between words. A word that is wider than that has
// a line of its own. A text without words has no line.
std::vector<std::string> Wrapped(absl::string_view text, int columns);

}  // namespace banyan

#endif  // BANYAN_CORE_TEXT_WRAPPED_H_
