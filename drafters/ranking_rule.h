// The rule by which a drafter's masses rank candidates.
#ifndef BANYAN_DRAFTERS_RANKING_RULE_H_
#define BANYAN_DRAFTERS_RANKING_RULE_H_

#include "core/prob/sampling_rule.h"

namespace banyan {

// `rule`; but at temperature 0, where its law knows one token only, the masses
// of temperature 1.
SamplingRule RankingRule(const SamplingRule& rule);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_RANKING_RULE_H_
