#include "drafters/text/plan_drafter.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/prob/distribution.h"
#include "drafters/propose.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {

int DraftPlan::Add(int parent, TokenId token, double score) {
  Check(parent >= 0 && parent < size(), "a node of the plan");
  Check(score > 0, "a score that speaks for the token");
  Check(Child(parent, token) < 0, "siblings are distinct");
  Node& above = nodes_[static_cast<std::size_t>(parent)];
  const Node child = {.token = token,
                      .parent = parent,
                      .score = score,
                      .next_sibling = above.first_child};
  above.first_child = size();
  nodes_.push_back(child);
  return size() - 1;
}

DraftPlan DraftPlan::Chain(absl::Span<const TokenId> tokens) {
  DraftPlan plan;
  int at = 0;
  for (TokenId token : tokens) at = plan.Add(at, token, 1);
  return plan;
}

int DraftPlan::depth(int index) const {
  int depth = 0;
  for (int at = index; at > 0; at = node(at).parent) ++depth;
  return depth;
}

int DraftPlan::Child(int index, TokenId token) const {
  int child = node(index).first_child;
  while (child >= 0 && node(child).token != token)
    child = node(child).next_sibling;
  return child;
}

int DraftPlan::Find(absl::Span<const TokenId> path) const {
  int at = 0;
  for (std::size_t i = 0; i < path.size() && at >= 0; ++i)
    at = Child(at, path[i]);
  return at;
}

namespace {

// The children of a node of the plan, by rising token.
CountRow CountRowOf(const DraftPlan& plan, int node, int vocab_size) {
  std::vector<std::pair<TokenId, double>> entries;
  for (int child = plan.node(node).first_child; child >= 0;
       child = plan.node(child).next_sibling) {
    const TokenId token = plan.node(child).token;
    if (token >= 0 && token < vocab_size)
      entries.emplace_back(token, plan.node(child).score);
  }
  std::sort(entries.begin(), entries.end());
  CountRow row = {.vocab_size = vocab_size};
  for (const auto& [token, score] : entries) {
    row.tokens.push_back(token);
    row.values.push_back(score);
  }
  return row;
}

}  // namespace

PlanDrafter::PlanDrafter(int vocab_size, const std::optional<CountRule>& rule,
                         CarriedState* carried)
    : Drafter(
          {.draw_kinds = rule.has_value()
                             ? EveryDrawKind()
                             : std::vector<DrawKind>{DrawKind::kDeterministic},
           .proposes_ahead = true},
          carried),
      vocab_size_(vocab_size),
      rule_(rule) {}

absl::Status PlanSession::Begin(const Context& context) {
  prompt_length_ = context.prompt_length;
  Start(context);
  BANYAN_RETURN_IF_ERROR(Follow(context));
  plan_ = Plan(context);
  return absl::OkStatus();
}

absl::Status PlanSession::Observe(const Context& context,
                                  const RoundOutcome& /*outcome*/) {
  BANYAN_RETURN_IF_ERROR(Follow(context));
  plan_ = Plan(context);
  return absl::OkStatus();
}

std::optional<double> PlanSession::Promise(const Context& /*context*/) const {
  std::vector<double> totals(static_cast<std::size_t>(plan_.size()), 0.0);
  for (int node = 1; node < plan_.size(); ++node)
    totals[static_cast<std::size_t>(plan_.node(node).parent)] +=
        plan_.node(node).score;
  std::vector<double> on_way = {1};
  double promise = 0;
  for (int node = 1; node < plan_.size(); ++node) {
    const auto above = static_cast<std::size_t>(plan_.node(node).parent);
    // Counts add up to more than 1, shares of what was left out to less.
    on_way.push_back(on_way[above] * plan_.node(node).score /
                     std::max(totals[above], 1.0));
    promise += on_way.back();
  }
  return promise;
}

absl::StatusOr<std::vector<Proposals>> PlanDrafter::Propose(
    absl::Span<const DraftRequest> requests) {
  return ProposeEach(
      requests,
      [this](const DraftRequest& request, int /*node*/,
             absl::Span<const TokenId> path) -> absl::StatusOr<Proposal> {
        const DraftPlan& plan = SessionOf<PlanSession>(request).plan();
        const int at = plan.Find(path);
        CountRow row = {.vocab_size = vocab_size_};
        if (at >= 0) row = CountRowOf(plan, at, vocab_size_);
        if (rule_.has_value())
          return rule_->Apply(request.tree->draw_kind(), std::move(row),
                              request.context->tokens, path);
        return Proposal{
            .q = Distribution::Sparse(vocab_size_, std::move(row.tokens),
                                      std::move(row.values)),
            .ranked = true};
      });
}

}  // namespace banyan
