#include "drafters/ranking_rule.h"

#include "core/prob/sampling_rule.h"

namespace banyan {

SamplingRule RankingRule(const SamplingRule& rule) {
  if (!rule.greedy()) return rule;
  return SamplingRule({.repetition_penalty = rule.options().repetition_penalty,
                       .banned = rule.options().banned});
}

}  // namespace banyan
