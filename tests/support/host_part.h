// How much of what tests do on the host device is done in this build.
#ifndef BANYAN_TESTS_SUPPORT_HOST_PART_H_
#define BANYAN_TESTS_SUPPORT_HOST_PART_H_

#include <iostream>
#include <string>

namespace banyan {

// Under sanitizers the host device, slow as it is, takes hours. There only the
// cases of one family and of one kind of drafter run on it.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kHostInPart = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kHostInPart = true;
#else
inline constexpr bool kHostInPart = false;
#endif
#else
inline constexpr bool kHostInPart = false;
#endif

// Whether the host device's share of a case is left out here, which is said.
inline bool LeftOutOnHost(const std::string& name) {
  if (!kHostInPart || name == "llama" || name == "medusa") return false;
  std::cout << "left out under sanitizers: " << name << " on the host device\n";
  return true;
}

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_HOST_PART_H_
