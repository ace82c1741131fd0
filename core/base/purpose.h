// What a choice is for.
#ifndef BANYAN_CORE_BASE_PURPOSE_H_
#define BANYAN_CORE_BASE_PURPOSE_H_

#include <cstdint>

namespace banyan {

// Choices of different purpose never share randomness.
enum class Purpose : std::uint8_t {
  kDraft,   // draw a token from a proposal
  kOrder,   // pick the next of several draws to judge
  kCoin,    // accept or refuse
  kTarget,  // draw the token after the accepted path
};

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_PURPOSE_H_
