// Suggestions for misspelt names.
#ifndef BANYAN_CORE_BASE_NEAREST_H_
#define BANYAN_CORE_BASE_NEAREST_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace banyan {

// The known name with the fewest edits from `name` (the first of them on a
// tie), where an edit adds, drops or changes a letter or swaps two neighbours;
// "" if none resembles it: more than a third of the longer name is edited.
absl::string_view Nearest(absl::string_view name,
                          absl::Span<const absl::string_view> known);

// "unknown WHAT 'name'; did you mean 'x'? known: x, y, z". The question is left
// out where none resembles it, the list where nothing is known.
std::string UnknownName(absl::string_view what, absl::string_view name,
                        absl::Span<const absl::string_view> known);

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_NEAREST_H_
