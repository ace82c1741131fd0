#include "core/base/quoted_name.h"

#include <cstddef>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace banyan {

std::string Shown(absl::string_view name) {
  constexpr std::size_t kShown = 80;
  return absl::StrCat(absl::CHexEscape(name.substr(0, kShown)),
                      name.size() > kShown ? "..." : "");
}

std::string QuotedName(absl::string_view name) {
  return absl::StrCat("'", Shown(name), "'");
}

}  // namespace banyan
