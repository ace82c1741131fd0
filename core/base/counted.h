// Numbers of things, in words.
#ifndef BANYAN_CORE_BASE_COUNTED_H_
#define BANYAN_CORE_BASE_COUNTED_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace banyan {

// "1 token", "2 tokens".
inline std::string Counted(std::int64_t number, absl::string_view noun) {
  return absl::StrCat(number, " ", noun, number == 1 ? "" : "s");
}

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_COUNTED_H_
