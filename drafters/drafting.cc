#include "drafters/drafting.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

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

namespace {

GrowingTree NewTree(absl::Span<const TrunkView> trunks, const Context& context,
                    const DraftLimits& limits) {
  std::vector<GrowingTree::Drafter> drafters;
  for (const TrunkView& trunk : trunks)
    drafters.push_back({.trunk = trunk.trunk,
                        .draw_kind = trunk.draw_kind,
                        .max_depth = std::min(limits.max_depth,
                                              DepthIn(context, trunk.drafter)),
                        .below_others = trunk.drafter.traits().below_others});
  return {context.root(), std::move(drafters), limits.end_of_text};
}

}  // namespace

Drafting::Drafting(std::vector<TrunkView> trunks, const Context& context,
                   const DraftLimits& limits, const Chance& chance)
    : trunks_(std::move(trunks)),
      context_(context),
      chance_(chance),
      tree_(NewTree(trunks_, context, limits)) {}

absl::Status Drafting::Advance() {
  while (true) {
    const std::vector<Step> next = Next();
    Want(next);
    // The policy may look before it spends draws.
    if (next.empty() || !wanted_.empty()) return absl::OkStatus();
    for (const Step& step : next) BANYAN_RETURN_IF_ERROR(Expand(step));
  }
}

std::vector<Drafting::Step> Drafting::Next() {
  std::vector<Step> next;
  if (trunks_.empty()) return next;
  if (const MethodPolicy* policy = trunks_.front().policy.of_method()) {
    for (const MethodExpansion& one : policy->Next(tree_)) {
      Check(tree_.MayDraw(one.node, one.drafter),
            "a policy expands a closed node");
      const int own = tree_.Adopt(one.node, one.drafter);
      next.push_back({static_cast<std::size_t>(one.drafter),
                      {.node = own,
                       .draws = one.draws,
                       .keep_at_least = one.keep_at_least},
                      one.new_tokens});
    }
    return next;
  }
  for (; turn_ < trunks_.size(); ++turn_) {
    for (const Expansion& one : trunks_[turn_].policy.Next(tree(turn_))) {
      Check(tree(turn_).open(one.node), "a policy expands a closed node");
      next.push_back({turn_, one});
    }
    if (!next.empty()) break;
  }
  return next;
}

// Of the first trunk that lacks proposals: the nodes, and those above them that
// it was not asked for; level by level where it cannot propose ahead.
void Drafting::Want(const std::vector<Step>& next) {
  wanted_.clear();
  asked_ = trunks_.size();
  for (const Step& step : next)
    if (tree(step.trunk).proposal(step.at.node) == nullptr)
      asked_ = std::min(asked_, step.trunk);
  for (const Step& step : next) {
    if (step.trunk != asked_) continue;
    const TrunkTree& own = tree(asked_);
    std::vector<int> above;
    for (int node = step.at.node; node >= 0 && own.proposal(node) == nullptr;
         node = own.node(node).parent)
      above.insert(above.begin(), node);
    if (!drafter().traits().proposes_ahead && above.size() > 1) above.resize(1);
    for (const int node : above)
      if (std::find(wanted_.begin(), wanted_.end(), node) == wanted_.end())
        wanted_.push_back(node);
  }
}

DraftRequest Drafting::Request() const {
  return {&trunks_[asked_].session, &context_, &tree(asked_), wanted_};
}

absl::Status Drafting::Answer(Proposals proposals) {
  Check(proposals.size() == wanted_.size(), "one proposal a node");
  const bool draws = trunks_[asked_].draw_kind != DrawKind::kDeterministic;
  const bool of_method = trunks_.front().policy.of_method() != nullptr;
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    Distribution& q = proposals[i].q;
    if (!q.empty() && (draws || q.total() > 1)) q = q.Normalized();
    if (of_method && !q.empty()) proposals[i].favourite = q.Argmax();
    tree_.SetProposal(static_cast<int>(asked_), wanted_[i],
                      std::move(proposals[i]));
  }
  return Advance();
}

std::vector<TrunkTree> Drafting::Take() && {
  Check(wanted_.empty(), "a drafting taken before it ended");
  std::vector<TrunkTree> trees = std::move(tree_).Take();
  for (std::size_t i = 0; i < trees.size(); ++i) {
    const std::vector<int> keep = trunks_[i].policy.Keep(trees[i]);
    if (static_cast<int>(keep.size()) < trees[i].size()) trees[i].Prune(keep);
  }
  return trees;
}

absl::Status Drafting::Expand(const Step& step) {
  if (step.at.same_as >= 0) return Share(step);
  for (int i = 0; i < step.at.draws && DrawOnce(step); ++i) {
  }
  return absl::OkStatus();
}

// Returns whether there was something to draw.
bool Drafting::DrawOnce(const Step& step) {
  const int node = step.at.node;
  if (!tree(step.trunk).open(node)) return false;
  const int drafter = static_cast<int>(step.trunk);
  const Distribution left =
      step.new_tokens ? tree_.LeftNew(tree_.merged(node, drafter), drafter)
                      : tree(step.trunk).remaining(node);
  if (left.empty()) {
    tree_.Close(drafter, node);
    return false;
  }
  TokenId token = 0;
  if (trunks_[step.trunk].draw_kind == DrawKind::kDeterministic) {
    token = step.new_tokens ? left.Argmax() : tree(step.trunk).candidate(node);
  } else {
    const auto number = static_cast<int>(tree(step.trunk).draws(node).size());
    token =
        left.TokenAt(chance_.ForTrunk(trunks_[step.trunk].trunk)
                         .Draw(left.weights(), Purpose::kDraft, node, number));
  }
  Record(step, left, node, token);
  return true;
}

// Adds a drawn token. It is judged by the distribution that it was drawn from,
// cut to the tokens that would have been kept.
void Drafting::Record(const Step& step, const Distribution& left, int node,
                      TokenId token) {
  const double keep_at_least = step.at.keep_at_least;
  const bool fixed = trunks_[step.trunk].draw_kind == DrawKind::kDeterministic;
  const double mass =
      fixed ? tree(step.trunk).proposal(node)->q.Mass(token) : left.Mass(token);
  const bool dropped = mass < keep_at_least;
  Distribution judged_by =
      fixed ? Distribution::OneHot(left.vocab_size(), token) : left;
  if (fixed && dropped)
    judged_by = Distribution::Sparse(left.vocab_size(), {}, {});
  if (!fixed && keep_at_least > 0) judged_by = left.KeepAtLeast(keep_at_least);
  tree_.AddDraw(static_cast<int>(step.trunk), node, token, std::move(judged_by),
                dropped);
}

// Uses another node's draws again. They are valid draws here only if both
// proposals are the same distribution.
absl::Status Drafting::Share(const Step& step) {
  const TrunkTree& own = tree(step.trunk);
  const auto& [node, draws, keep_at_least, same_as] = step.at;
  Check(own.proposal(same_as) != nullptr,
        "a policy shares the draws of a node that has none");
  const Distribution& ours = own.proposal(node)->q;
  const Distribution& theirs = own.proposal(same_as)->q;
  constexpr double kRounding = 1e-12;  // of sums of a vocabulary's masses
  // The sum of the absolute differences of their masses.
  const double distance =
      ours.total() + theirs.total() - 2 * Overlap(ours, theirs);
  if (distance > kRounding)
    return absl::FailedPreconditionError(absl::StrCat(
        "draws cannot be shared: the drafter proposes different "
        "distributions at nodes ",
        same_as, " and ", node, " of trunk ", trunks_[step.trunk].trunk));
  std::vector<TokenId> tokens;
  for (const Draw& draw : own.draws(same_as)) tokens.push_back(draw.token);
  for (const TokenId token : tokens)
    Record(step, Distribution(own.remaining(node)), node, token);
  tree_.SetShared(static_cast<int>(step.trunk), same_as);
  tree_.SetShared(static_cast<int>(step.trunk), node);
  return absl::OkStatus();
}

absl::Status DraftAll(absl::Span<Drafting> draftings, AfterTrunk after) {
  for (Drafting& drafting : draftings)
    BANYAN_RETURN_IF_ERROR(drafting.Advance());
  while (true) {
    // The first trunk that some sequence wants: those that wait ask it too.
    std::optional<std::size_t> trunk;
    for (const Drafting& drafting : draftings)
      if (!drafting.wanted().empty())
        trunk = std::min(trunk.value_or(drafting.asked()), drafting.asked());
    if (!trunk) return absl::OkStatus();
    std::vector<Drafting*> asking;
    std::vector<DraftRequest> requests;
    for (Drafting& drafting : draftings) {
      if (drafting.wanted().empty() || drafting.asked() != *trunk) continue;
      asking.push_back(&drafting);
      requests.push_back(drafting.Request());
    }
    absl::StatusOr<std::vector<Proposals>> answers =
        asking.front()->drafter().Propose(requests);
    absl::Status status = answers.status();
    if (status.ok())
      Check(answers->size() == requests.size(), "one answer a sequence");
    for (std::size_t i = 0; i < asking.size() && status.ok(); ++i)
      status = asking[i]->Answer(std::move((*answers)[i]));
    BANYAN_RETURN_IF_ERROR(after(*trunk, std::move(status)));
  }
}

absl::Status DraftAll(absl::Span<Drafting> draftings) {
  return DraftAll(draftings, [](std::size_t /*trunk*/, absl::Status status) {
    return status;
  });
}

}  // namespace banyan
