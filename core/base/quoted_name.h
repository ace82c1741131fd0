#ifndef BANYAN_CORE_BASE_QUOTED_NAME_H_
#define BANYAN_CORE_BASE_QUOTED_NAME_H_

#include <string>

#include "absl/strings/string_view.h"

namespace banyan {

// A name from a file, for messages: in quotes, escaped, cut if it is long.
std::string QuotedName(absl::string_view name);

// The same without quotes, for a sentence that has its own.
std::string Shown(absl::string_view name);

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_QUOTED_NAME_H_
