// What only a programmer can cause: Check() ends the program with the place and
// the reason. What the outside can cause is an absl::Status instead.
#ifndef BANYAN_CORE_BASE_CHECK_H_
#define BANYAN_CORE_BASE_CHECK_H_

#include "absl/strings/string_view.h"

namespace banyan {

// What is done before the program ends, with "file:line: check failed: what". A
// program that is part of another one throws there, which unwinds to its
// caller. Null, as before the first call: nothing.
void SetCheckFailure(void (*fail)(const char* message));

// Prints "file:line: check failed: what" and aborts, unless the function of
// SetCheckFailure() throws.
[[noreturn]] void CheckFailed(absl::string_view what, const char* file,
                              int line);

// The caller's place comes from the compiler (std::source_location, which
// clang 14 lacks).
inline void Check(bool holds, absl::string_view what,
                  const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  if (!holds) CheckFailed(what, file, line);
}

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_CHECK_H_
