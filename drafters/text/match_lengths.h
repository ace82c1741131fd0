// The keys of drafters that look the end of the text up in other text.
#ifndef BANYAN_DRAFTERS_TEXT_MATCH_LENGTHS_H_
#define BANYAN_DRAFTERS_TEXT_MATCH_LENGTHS_H_

#include "core/base/params.h"

namespace banyan {

// The fewest and the most tokens of a match. Both hold their defaults.
void ReadMatchLengths(ParamsReader& in, int& min_match, int& max_match);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_MATCH_LENGTHS_H_
