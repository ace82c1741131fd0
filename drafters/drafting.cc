#include "drafters/drafting.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/base/check.h"
#include "core/base/draw_math.h"
#include "core/prob/distribution.h"

namespace banyan {

namespace {

// Returns how many levels the drafter can draft: a node of depth d is proposed
// for after d tokens more than the context has.
int DepthIn(const Context& context, const Drafter& drafter) {
  const std::int64_t left = std::int64_t{drafter.traits().longest_text} + 1 -
                            static_cast<std::int64_t>(context.tokens.size());
  return static_cast<int>(
      std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
}

}  // namespace

Drafting::Drafting(const TrunkView& trunk, const Context& context,
                   const DraftLimits& limits, const Chance& chance, int now)
    : trunk_(trunk),
      context_(context),
      limits_(limits),
      chance_(chance.ForTrunk(trunk.trunk)),
      tree_(context.root(), trunk.trunk, trunk.draw_kind, now) {
  limits_.max_depth =
      std::min(limits.max_depth, DepthIn(context, trunk.drafter));
  if (limits_.max_depth <= 0) tree_.Close(0);
}

absl::Status Drafting::Advance() {
  while (true) {
    const std::vector<Expansion> next = trunk_.policy.Next(tree_);
    wanted_ = WithoutProposal(next);
    // The policy may look before it spends draws.
    if (next.empty() || !wanted_.empty()) return absl::OkStatus();
    for (const Expansion& expansion : next)
      BANYAN_RETURN_IF_ERROR(Expand(expansion));
  }
}

DraftRequest Drafting::Request() const {
  return {&trunk_.session, &context_, &tree_, wanted_};
}

absl::Status Drafting::Answer(Proposals proposals) {
  Check(proposals.size() == wanted_.size(), "one proposal a node");
  const bool draws = trunk_.draw_kind != DrawKind::kDeterministic;
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    Distribution& q = proposals[i].q;
    if (!q.empty() && (draws || q.total() > 1)) q = q.Normalized();
    tree_.SetProposal(wanted_[i], std::move(proposals[i]));
  }
  return Advance();
}

TrunkTree Drafting::Take() && {
  Check(wanted_.empty(), "a drafting taken before it ended");
  const std::vector<int> keep = trunk_.policy.Keep(tree_);
  if (static_cast<int>(keep.size()) < tree_.size()) tree_.Prune(keep);
  return std::move(tree_);
}

std::vector<int> Drafting::WithoutProposal(
    const std::vector<Expansion>& next) const {
  std::vector<int> nodes;
  for (const Expansion& expansion : next) {
    Check(tree_.open(expansion.node), "a policy expands a closed node");
    if (tree_.proposal(expansion.node) == nullptr)
      nodes.push_back(expansion.node);
  }
  return nodes;
}

absl::Status Drafting::Expand(const Expansion& expansion) {
  if (expansion.same_as >= 0) return Share(expansion);
  const int node = expansion.node;
  for (int i = 0; i < expansion.draws && tree_.open(node); ++i) {
    const int number = static_cast<int>(tree_.draws(node).size());
    const TokenId token = DrawToken(node, number);
    Record(node, token, expansion.keep_at_least);
  }
  return absl::OkStatus();
}

TokenId Drafting::DrawToken(int node, int number) const {
  if (trunk_.draw_kind == DrawKind::kDeterministic)
    return tree_.candidate(node);
  const Distribution& law = tree_.remaining(node);
  return law.TokenAt(
      chance_.Draw(law.weights(), Purpose::kDraft, node, number));
}

// Adds a drawn token. It is judged by the distribution that it was drawn from,
// cut to the tokens that would have been kept.
void Drafting::Record(int node, TokenId token, double keep_at_least) {
  const Distribution& law = tree_.remaining(node);
  const bool fixed = trunk_.draw_kind == DrawKind::kDeterministic;
  const double mass = fixed ? tree_.candidate_mass(node) : law.Mass(token);
  const bool dropped = mass < keep_at_least;
  Distribution judged_by =
      fixed ? Distribution::OneHot(law.vocab_size(), token) : law;
  if (fixed && dropped)
    judged_by = Distribution::Sparse(law.vocab_size(), {}, {});
  if (!fixed && keep_at_least > 0) judged_by = law.KeepAtLeast(keep_at_least);
  const int before = tree_.size();
  const int child = tree_.AddDraw(node, token, std::move(judged_by), dropped);
  if (child >= before && Final(child)) tree_.Close(child);
}

// Uses another node's draws again. They are valid draws here only if both
// proposals are the same distribution.
absl::Status Drafting::Share(const Expansion& expansion) {
  Check(tree_.proposal(expansion.same_as) != nullptr,
        "a policy shares the draws of a node that has none");
  const Distribution& ours = tree_.proposal(expansion.node)->q;
  const Distribution& theirs = tree_.proposal(expansion.same_as)->q;
  constexpr double kRounding = 1e-12;  // of sums of a vocabulary's masses
  // The sum of the absolute differences of their masses.
  const double distance =
      ours.total() + theirs.total() - 2 * Overlap(ours, theirs);
  if (distance > kRounding)
    return absl::FailedPreconditionError(
        absl::StrCat("draws cannot be shared: the drafter proposes different "
                     "distributions at nodes ",
                     expansion.same_as, " and ", expansion.node, " of trunk ",
                     trunk_.trunk));
  std::vector<TokenId> tokens;
  for (const Draw& draw : tree_.draws(expansion.same_as))
    tokens.push_back(draw.token);
  for (TokenId token : tokens)
    Record(expansion.node, token, expansion.keep_at_least);
  tree_.SetShared(expansion.same_as);
  tree_.SetShared(expansion.node);
  return absl::OkStatus();
}

bool Drafting::Final(int node) const {
  const auto& ends = limits_.end_of_text;
  return tree_.node(node).depth >= limits_.max_depth ||
         std::find(ends.begin(), ends.end(), tree_.node(node).token) !=
             ends.end();
}

absl::Status DraftAll(absl::Span<Drafting> draftings) {
  for (Drafting& drafting : draftings)
    BANYAN_RETURN_IF_ERROR(drafting.Advance());
  while (true) {
    std::vector<Drafting*> asking;
    std::vector<DraftRequest> requests;
    for (Drafting& drafting : draftings) {
      if (drafting.wanted().empty()) continue;
      asking.push_back(&drafting);
      requests.push_back(drafting.Request());
    }
    if (requests.empty()) return absl::OkStatus();
    BANYAN_ASSIGN_OR_RETURN(std::vector<Proposals> answers,
                            asking.front()->drafter().Propose(requests));
    Check(answers.size() == requests.size(), "one answer a sequence");
    for (std::size_t i = 0; i < asking.size(); ++i)
      BANYAN_RETURN_IF_ERROR(asking[i]->Answer(std::move(answers[i])));
  }
}

absl::StatusOr<TrunkTree> DraftTrunk(const TrunkView& trunk,
                                     const Context& context,
                                     const DraftLimits& limits,
                                     const Chance& chance) {
  Drafting drafting(trunk, context, limits, chance);
  BANYAN_RETURN_IF_ERROR(DraftAll({&drafting, 1}));
  return std::move(drafting).Take();
}

}  // namespace banyan
