// Whether rounds that were run in two places are the same, to the last bit.
#ifndef BANYAN_TESTS_DECODE_SAME_ROUNDS_H_
#define BANYAN_TESTS_DECODE_SAME_ROUNDS_H_

#include <vector>

#include "core/base/token.h"
#include "decode/sequence.h"

namespace banyan {

// All rounds of a prompt. `on_device` is how many the device ran.
struct Rounds {
  std::vector<TokenId> tokens;
  std::vector<RoundRecord> rounds;
  int on_device = 0;
};

// Whether the target's device ran it alone.
bool RanOnDevice(const RoundRecord& round);

// `whole`: proposals are the same too, not just what was drawn of them.
void ExpectSameRounds(const Rounds& got, const Rounds& expected, bool whole);

}  // namespace banyan

#endif  // BANYAN_TESTS_DECODE_SAME_ROUNDS_H_
