// Texts of any origin made fit for XML, and so for HTML and SVG.
#ifndef BANYAN_CORE_TEXT_XML_H_
#define BANYAN_CORE_TEXT_XML_H_

#include <string>

#include "absl/strings/string_view.h"

namespace banyan {

// Printable(text) (core/text/columns.h) with &, <, > and quotes escaped for
// XML.
std::string XmlEscaped(absl::string_view text);

}  // namespace banyan

#endif  // BANYAN_CORE_TEXT_XML_H_
