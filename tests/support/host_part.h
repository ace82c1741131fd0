// How much of what tests do on the host device is done in this build.
#ifndef BANYAN_TESTS_SUPPORT_HOST_PART_H_
#define BANYAN_TESTS_SUPPORT_HOST_PART_H_

#include <iostream>
#include <string>

#include "tests/support/sanitized.h"

namespace banyan {

// Under sanitizers the host device, slow as it is, takes five times as long.
// There only the cases of one family and of two presets run on it.
inline constexpr bool kHostInPart = kSanitized;

inline constexpr char kHostLeftOut[] =
    "on the host device, which sanitizers make slower still";

// Returns whether a case is left out here, and prints that it is. Under
// sanitizers the cases that are not `kept` are.
inline bool LeftOutOnHost(const std::string& name, bool kept) {
  if (!kHostInPart || kept) return false;
  std::cout << "left out under sanitizers: " << name << " on the host device\n";
  return true;
}
inline bool LeftOutOnHost(const std::string& name) {
  return LeftOutOnHost(
      name, name == "llama" || name == "medusa" || name == "specinfer_1");
}

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_HOST_PART_H_
