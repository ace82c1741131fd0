#include "core/text/xml.h"

#include <string>

#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "core/text/columns.h"

namespace banyan {

std::string XmlEscaped(absl::string_view text) {
  return absl::StrReplaceAll(Printable(text), {{"&", "&amp;"},
                                               {"<", "&lt;"},
                                               {">", "&gt;"},
                                               {"\"", "&quot;"},
                                               {"'", "&apos;"}});
}

}  // namespace banyan
