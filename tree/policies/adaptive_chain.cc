#include "tree/policies/adaptive_chain.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "core/base/check.h"
#include "core/base/params.h"
#include "core/prob/distribution.h"
#include "tree/draft_tree.h"
#include "tree/policies/bounds.h"
#include "tree/policies/row.h"
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

// What the mean of the shares keeps of itself in a round (as published).
constexpr double kKept = 0.5;

}  // namespace

PolicyTraits AdaptiveChain::traits() const {
  const int most = options_.adjust ? options_.max_nodes : options_.nodes;
  return {.draw_kinds = EveryDrawKind(),
          .chain = true,
          .adapts = true,
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
  return {{.node = last, .keep_at_least = drop ? threshold_ : 0}};
}

bool AdaptiveChain::Confident(const TrunkTree& tree, int last) const {
  if (options_.on_low == OnLow::kStopBefore) {
    const Proposal* proposal = tree.proposal(last);
    return proposal == nullptr ||
           proposal->q.Mass(proposal->q.Argmax()) >= threshold_;
  }
  if (options_.on_low == OnLow::kDrop || last == 0) return true;
  const Node& node = tree.node(last);
  return tree.proposal(node.parent)->q.Mass(node.token) >= threshold_;
}

void AdaptiveChain::Observe(const RoundOutcome& outcome) {
  if (!learns()) return;
  const std::vector<int> chain = ChainOf(outcome.tree, outcome.trunk);
  if (chain.empty()) return;
  const std::vector<int>& path = outcome.verdict.path;
  const auto accepted =
      std::mismatch(chain.begin(), chain.end(), path.begin(), path.end()).first;
  if (options_.goal > 0)
    Refit(static_cast<int>(chain.size()),
          static_cast<int>(accepted - chain.begin()));
  if (!options_.adjust) return;
  const bool all = accepted == chain.end();
  length_ = std::clamp(length_ + (all ? 2 : -1), 1, options_.max_nodes);
}

void AdaptiveChain::Refit(int drafted, int accepted) {
  accepted_share_ = kKept * accepted_share_ + (1 - kKept) * accepted / drafted;
  double move = 0;
  if (accepted_share_ < options_.goal) {
    move = options_.step;
  } else if (drafted < length_) {
    move = -options_.step;
  }
  threshold_ = std::clamp(threshold_ + move, 0.0, 1.0);
}

std::vector<double> AdaptiveChain::State() const {
  if (!learns()) return {};
  return {static_cast<double>(length_), threshold_, accepted_share_};
}

namespace {

BuiltPolicy BuildAdaptiveChain(ParamsReader& in,
                               const AdaptiveChainOptions& options) {
  in.Ensure(options.nodes >= 1, "nodes", "must be at least 1");
  in.Ensure(options.threshold >= 0 && options.threshold <= 1, "threshold",
            "must lie in [0, 1]");
  if (in.Has("goal")) {
    in.Ensure(options.goal > 0 && options.goal < 1, "goal",
              "must lie in (0, 1)");
    in.Ensure(options.on_low == OnLow::kKeepAndStop, "on_low",
              "must be keep_and_stop where there is a goal: a round without a "
              "drafted token teaches nothing");
  }
  in.Ensure(options.step > 0 && options.step <= 1, "step",
            "must lie in (0, 1]");
  in.Ensure(options.max_nodes >= 1, "max_nodes", "must be at least 1");
  in.Ensure(!options.adjust || options.nodes <= options.max_nodes, "max_nodes",
            "must be at least nodes");
  EnsureDraws(in, "nodes", options.nodes);
  EnsureDraws(in, "max_nodes", options.max_nodes);
  return std::make_unique<AdaptiveChain>(options);
}

}  // namespace

PolicyRow AdaptiveChainRow() {
  Keys<AdaptiveChainOptions> keys;
  keys.Required("nodes", &AdaptiveChainOptions::nodes, "The longest chain.");
  keys.Optional("threshold", &AdaptiveChainOptions::threshold,
                "The mass below which confidence is low.");
  keys.OneOf("on_low", &AdaptiveChainOptions::on_low,
             {"keep_and_stop", "drop", "stop_before"},
             "What happens to a token of low confidence.");
  keys.Optional("goal", &AdaptiveChainOptions::goal,
                "The acceptance rate to which the threshold is refitted.");
  keys.Optional("step", &AdaptiveChainOptions::step,
                "How far the threshold moves, with `goal`.")
      .OnlyWith("goal");
  keys.Optional("adjust", &AdaptiveChainOptions::adjust,
                "Whether verdicts lengthen and shorten the chain.");
  keys.Optional("max_nodes", &AdaptiveChainOptions::max_nodes,
                "The longest chain, with `adjust`.")
      .OnlyWith("adjust", "true");
  return {.name = "adaptive_chain",
          .sentence =
              "A chain that stops on low confidence, adapts its length to "
              "acceptance, or refits its threshold.",
          .keys = keys.Rows(),
          .build = keys.ReadFor(BuildAdaptiveChain),
          .sizes = {.nodes = true},
          .renamed = {{"gamma", "nodes"}, {"max_gamma", "max_nodes"}},
          .examples = {"{nodes: 2}", "{nodes: 2, on_low: drop}",
                       "{nodes: 2, on_low: stop_before, threshold: 0.5}",
                       "{nodes: 1, threshold: 0, adjust: true, max_nodes: 2}",
                       "{nodes: 3, on_low: drop, threshold: 0.3}",
                       "{nodes: 2, threshold: 0.5, goal: 0.4, step: 0.4}"}};
}

}  // namespace banyan
