// Texts of any origin made fit for XML.
#ifndef BANYAN_TREE_RENDER_LABEL_H_
#define BANYAN_TREE_RENDER_LABEL_H_

#include <string>

#include "absl/strings/string_view.h"

namespace banyan {

// Printable(text) (core/text/columns.h) with &, <, > and quotes escaped for
// XML.
std::string XmlEscaped(absl::string_view text);

}  // namespace banyan

#endif  // BANYAN_TREE_RENDER_LABEL_H_
