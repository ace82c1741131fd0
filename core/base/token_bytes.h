// How long a token's text may be.
#ifndef BANYAN_CORE_BASE_TOKEN_BYTES_H_
#define BANYAN_CORE_BASE_TOKEN_BYTES_H_

#include <cstddef>

namespace banyan {

// The most bytes of a token that is searched for at every place of a text, or
// split at every place of its own. Published tokens have up to some 256.
inline constexpr std::size_t kMaxTokenBytes = 1024;

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_TOKEN_BYTES_H_
