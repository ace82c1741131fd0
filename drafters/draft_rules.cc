#include "drafters/draft_rules.h"

#include <utility>

#include "core/prob/sampling_rule.h"

namespace banyan {
namespace {

SamplingRule RankingRule(const SamplingRule& rule) {
  if (!rule.greedy()) return rule;
  return SamplingRule({.repetition_penalty = rule.options().repetition_penalty,
                       .banned = rule.options().banned});
}

}  // namespace

DraftRules::DraftRules(SamplingRule rule)
    : rule_(std::move(rule)), ranking_(RankingRule(rule_)) {}

}  // namespace banyan
