// Whether this build has the address sanitizer, of either compiler.
#ifndef BANYAN_TESTS_SUPPORT_SANITIZED_H_
#define BANYAN_TESTS_SUPPORT_SANITIZED_H_

namespace banyan {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_SANITIZED_H_
