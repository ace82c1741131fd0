// Suggestions for misspelt names.
#ifndef BANYAN_CORE_BASE_NEAREST_H_
#define BANYAN_CORE_BASE_NEAREST_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace banyan {

// The known name with the smallest edit distance to `name` (the first of them
// on a tie), or "" if `known` is empty.
absl::string_view Nearest(absl::string_view name,
                          absl::Span<const absl::string_view> known);

// "unknown WHAT 'name'; did you mean 'x'? known: x, y, z".
std::string UnknownName(absl::string_view what, absl::string_view name,
                        absl::Span<const absl::string_view> known);

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_NEAREST_H_
