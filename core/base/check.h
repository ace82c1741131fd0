// What only a programmer can cause: Check() ends the program with the place and
// the reason. What the outside can cause is an absl::Status instead.
#ifndef BANYAN_CORE_BASE_CHECK_H_
#define BANYAN_CORE_BASE_CHECK_H_

#include <source_location>

#include "absl/strings/string_view.h"

namespace banyan {

// Prints "file:line: check failed: what" and aborts.
[[noreturn]] void CheckFailed(absl::string_view what,
                              const std::source_location& where);

inline void Check(
    bool holds, absl::string_view what,
    const std::source_location& where = std::source_location::current()) {
  if (!holds) CheckFailed(what, where);
}

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_CHECK_H_
