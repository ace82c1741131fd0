// Texts of any origin made fit for drawing.
#ifndef BANYAN_TREE_RENDER_LABEL_H_
#define BANYAN_TREE_RENDER_LABEL_H_

#include <string>

#include "absl/strings/string_view.h"

namespace banyan {

// Valid UTF-8 without control characters: those below 32 and 127 become their
// Unicode pictures (a line feed U+240A), all else that may not stand in XML,
// and bytes that are not UTF-8, become U+FFFD.
std::string Printable(absl::string_view text);

// The columns that Printable(text) takes in a fixed-width font: East Asian
// characters and symbols from U+2E80 on count two.
int Columns(absl::string_view text);

// Printable(text) with &, <, > and quotes escaped for XML.
std::string XmlEscaped(absl::string_view text);

}  // namespace banyan

#endif  // BANYAN_TREE_RENDER_LABEL_H_
