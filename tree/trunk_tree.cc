#include "tree/trunk_tree.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

std::size_t NodeIndex(int i) { return static_cast<std::size_t>(i); }

// The child of a node with this token, probes aside; -1 if there is none.
int ChildOf(const std::vector<Node>& nodes, int parent, TokenId token) {
  for (int child : nodes[NodeIndex(parent)].children)
    if (nodes[NodeIndex(child)].token == token &&
        !nodes[NodeIndex(child)].probe())
      return child;
  return -1;
}

}  // namespace

TrunkTree::TrunkTree(TokenId root, int trunk, DrawKind draw_kind, int now)
    : trunk_(trunk), draw_kind_(draw_kind), now_(now), nodes_(1), states_(1) {
  nodes_[0].token = root;
}

void TrunkTree::SetNow(int now) {
  Check(now >= now_, "time goes back");
  now_ = now;
}

absl::Span<const Draw> TrunkTree::draws(int index) const {
  const std::vector<DrawList>& lists = node(index).lists;
  if (lists.empty()) return {};
  return lists.front().draws;
}

const Proposal* TrunkTree::proposal(int index) const {
  const auto& proposal = states_[NodeIndex(index)].proposal;
  return proposal.has_value() ? &*proposal : nullptr;
}

double TrunkTree::path_mass(int index) const {
  return states_[NodeIndex(index)].path_mass;
}

int TrunkTree::multiplicity(int index) const {
  return states_[NodeIndex(index)].multiplicity;
}

int TrunkTree::rank(int index) const { return states_[NodeIndex(index)].rank; }

bool TrunkTree::open(int index) const { return states_[NodeIndex(index)].open; }

void TrunkTree::Close(int index) { states_[NodeIndex(index)].open = false; }

const Distribution& TrunkTree::remaining(int index) const {
  return states_[NodeIndex(index)].remaining;
}

TokenId TrunkTree::candidate(int index) const {
  return states_[NodeIndex(index)].candidate;
}

double TrunkTree::candidate_mass(int index) const {
  return states_[NodeIndex(index)].candidate_mass;
}

void TrunkTree::SetProposal(int index, Proposal proposal) {
  Check(!proposal.ranked || draw_kind_ == DrawKind::kDeterministic,
        "a drafter that only ranks was asked for draws");
  states_[NodeIndex(index)].proposal = proposal;
  SetRemaining(index, std::move(proposal.q));
}

void TrunkTree::SetRemaining(int index, Distribution remaining) {
  NodeState& state = states_[NodeIndex(index)];
  state.remaining = std::move(remaining);
  state.candidate_mass = 0;
  if (state.remaining.empty()) {
    state.open = false;
  } else if (draw_kind_ == DrawKind::kDeterministic) {
    state.candidate = state.remaining.Argmax();
    state.candidate_mass = state.proposal->q.Mass(state.candidate);
  }
}

int TrunkTree::NewNode(int parent, TokenId token) {
  const int index = size();
  at(parent).children.push_back(index);
  nodes_.push_back(
      {.token = token, .parent = parent, .depth = node(parent).depth + 1});
  states_.emplace_back();
  return index;
}

int TrunkTree::AddDraw(int index, TokenId token, Distribution judged_by,
                       bool dropped) {
  const Proposal* proposal = this->proposal(index);
  Check(proposal != nullptr, "a draw at a node without a proposal");
  if (node(index).lists.empty())
    at(index).lists.push_back(
        {.trunk = trunk_, .draw_kind = draw_kind_, .proposal = *proposal});
  int child = Draw::kDropped;
  if (!dropped) {
    child = ChildOf(nodes_, index, token);
    if (child >= 0) {
      NodeState& state = states_[NodeIndex(child)];
      ++state.multiplicity;
      if (state.rank < 0) state.rank = static_cast<int>(draws(index).size());
    } else {
      const double mass = path_mass(index) * proposal->q.Mass(token);
      child = NewNode(index, token);
      states_.back().path_mass = mass;
      states_.back().rank = static_cast<int>(draws(index).size());
    }
  }
  at(index).lists.front().draws.push_back({.token = token,
                                           .time = now_++,
                                           .child = child,
                                           .proposal = std::move(judged_by)});
  if (draw_kind_ != DrawKind::kIndependent)
    SetRemaining(index, remaining(index).Without(token));
  return child;
}

int TrunkTree::Adopt(int parent, TokenId token) {
  const int index = NewNode(parent, token);
  states_.back().path_mass = 0;
  states_.back().multiplicity = 0;
  return index;
}

void TrunkTree::SetShared(int index) {
  for (DrawList& list : at(index).lists) list.shared_draws = true;
}

int TrunkTree::AddProbe(int parent, TokenId token,
                        std::shared_ptr<const std::vector<float>> vector) {
  const int index = NewNode(parent, token);
  nodes_.back().probe_of = trunk_;
  nodes_.back().vector = std::move(vector);
  states_.back().open = false;
  return index;
}

void TrunkTree::Prune(absl::Span<const int> keep) {
  Check(draw_kind_ == DrawKind::kDeterministic,
        "only deterministic draws may be pruned");
  std::vector<char> kept(NodeIndex(size()), 0);
  for (int index : keep) kept[NodeIndex(index)] = 1;

  TrunkTree result(node(0).token, trunk_, draw_kind_);
  std::vector<int> renamed(NodeIndex(size()), 0);
  for (int index = 0; index < size(); ++index) {
    if (kept[NodeIndex(index)] == 0) continue;
    Check(index == 0 || kept[NodeIndex(node(index).parent)] != 0,
          "a kept node whose parent is pruned");
    const int at = renamed[NodeIndex(index)];
    if (proposal(index) != nullptr) result.SetProposal(at, *proposal(index));
    for (const Draw& draw : draws(index)) {
      if (draw.dropped() || kept[NodeIndex(draw.child)] == 0) continue;
      result.now_ = draw.time;
      renamed[NodeIndex(draw.child)] =
          result.AddDraw(at, draw.token, draw.proposal);
    }
    for (int child : node(index).children)
      if (node(child).probe() && kept[NodeIndex(child)] != 0)
        renamed[NodeIndex(child)] =
            result.AddProbe(at, node(child).token, node(child).vector);
    if (!open(index)) result.Close(at);
  }
  result.now_ = now_;
  *this = std::move(result);
}

}  // namespace banyan
