#include "tree/policies/adaptive_chain.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/check.h"
#include "core/base/params.h"
#include "core/prob/distribution.h"
#include "tree/draft_tree.h"
#include "tree/policies/bounds.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

// The nodes one trunk drew, down its chain.
std::vector<int> ChainOf(const DraftTree& tree, int trunk) {
  std::vector<int> chain;
  int node = 0;
  while (node != Draw::kDropped) {
    int next = Draw::kDropped;
    for (const DrawList& list : tree.node(node).lists)
      if (list.trunk == trunk && !list.draws.empty())
        next = list.draws.front().child;
    if (next != Draw::kDropped) chain.push_back(next);
    node = next;
  }
  return chain;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TreePolicy>> AdaptiveChain::Build(
    ParamsReader& in) {
  AdaptiveChainOptions options;
  in.Required("gamma", options.gamma);
  in.Ensure(options.gamma >= 1, "gamma", "must be at least 1");
  in.Optional("threshold", options.threshold);
  in.Ensure(options.threshold >= 0 && options.threshold <= 1, "threshold",
            "must lie in [0, 1]");
  std::string on_low = "keep_and_stop";
  in.Optional("on_low", on_low);
  in.Ensure(
      on_low == "keep_and_stop" || on_low == "drop" || on_low == "stop_before",
      "on_low", "must be keep_and_stop, drop or stop_before");
  if (on_low == "drop") options.on_low = OnLow::kDrop;
  if (on_low == "stop_before") options.on_low = OnLow::kStopBefore;
  in.Optional("adjust", options.adjust);
  in.Ensure(!in.Optional("max_gamma", options.max_gamma) || options.adjust,
            "max_gamma", "belongs to adjust, and needs it");
  in.Ensure(options.max_gamma >= 1, "max_gamma", "must be at least 1");
  in.Ensure(!options.adjust || options.gamma <= options.max_gamma, "max_gamma",
            "must be at least gamma");
  EnsureDraws(in, "gamma", options.gamma);
  EnsureDraws(in, "max_gamma", options.max_gamma);
  return std::make_unique<AdaptiveChain>(options);
}

PolicyTraits AdaptiveChain::traits() const {
  const int most = options_.adjust ? options_.max_gamma : options_.gamma;
  return {.laws = {DraftLaw::kIndependent, DraftLaw::kWithoutReplacement,
                   DraftLaw::kDeterministic},
          .chain = true,
          .fixed_counts = true,
          .nodes = most,
          .levels = most};
}

std::vector<Expansion> AdaptiveChain::Next(const TrunkTree& tree) const {
  const int last = tree.size() - 1;
  const bool dropped = !tree.draws(last).empty();
  if (dropped || !tree.open(last) || tree.node(last).depth >= length_)
    return {};
  if (!Confident(tree, last)) return {};
  const bool drop = options_.on_low == OnLow::kDrop;
  return {{.node = last, .keep_at_least = drop ? options_.threshold : 0}};
}

bool AdaptiveChain::Confident(const TrunkTree& tree, int last) const {
  if (options_.on_low == OnLow::kStopBefore) {
    const Distribution* proposal = tree.proposal(last);
    return proposal == nullptr ||
           proposal->Mass(proposal->Argmax()) >= options_.threshold;
  }
  if (options_.on_low == OnLow::kDrop || last == 0) return true;
  const Node& node = tree.node(last);
  return tree.proposal(node.parent)->Mass(node.token) >= options_.threshold;
}

void AdaptiveChain::Observe(const RoundOutcome& outcome) {
  if (!options_.adjust) return;
  const std::vector<int> chain = ChainOf(outcome.tree, outcome.trunk);
  if (chain.empty()) return;
  const std::vector<int>& path = outcome.verdict.path;
  const bool all =
      path.size() >= chain.size() && path[chain.size() - 1] == chain.back();
  length_ = std::clamp(length_ + (all ? 2 : -1), 1, options_.max_gamma);
}

std::vector<double> AdaptiveChain::State() const {
  if (!options_.adjust) return {};
  return {static_cast<double>(length_)};
}

void AdaptiveChain::SetState(const std::vector<double>& state) {
  if (!options_.adjust) return;
  Check(state.size() == 1, "the state of an adaptive chain is its length");
  length_ = static_cast<int>(state[0]);
}

}  // namespace banyan
