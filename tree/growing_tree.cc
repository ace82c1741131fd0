#include "tree/growing_tree.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {

GrowingTree::GrowingTree(TokenId root, std::vector<Drafter> drafters,
                         absl::Span<const TokenId> end_of_text)
    : drafters_(std::move(drafters)), end_of_text_(end_of_text) {
  nodes_.push_back({.token = root});
  own_.assign(drafters_.size(), 0);
  merged_.assign(drafters_.size(), {0});
  for (const Drafter& drafter : drafters_) {
    trees_.emplace_back(root, drafter.trunk, drafter.draw_kind);
    if (drafter.max_depth <= 0) trees_.back().Close(0);
  }
}

absl::Span<const Draw> GrowingTree::draws(int node, int drafter) const {
  const int own = this->own(node, drafter);
  return own < 0 ? absl::Span<const Draw>() : tree(drafter).draws(own);
}

std::vector<DrawnAt> GrowingTree::DrawsInTime(int node) const {
  std::vector<DrawnAt> all;
  for (int drafter = 0; drafter < drafters(); ++drafter)
    for (const Draw& draw : draws(node, drafter))
      all.push_back({drafter, &draw});
  std::sort(all.begin(), all.end(), [](const DrawnAt& a, const DrawnAt& b) {
    return a.draw->time < b.draw->time;
  });
  return all;
}

bool GrowingTree::HasChild(int node, TokenId token) const {
  const std::vector<int>& children = this->node(node).children;
  return std::any_of(children.begin(), children.end(), [&](int child) {
    return this->node(child).token == token;
  });
}

const Proposal* GrowingTree::proposal(int node, int drafter) const {
  const int own = this->own(node, drafter);
  return own < 0 ? nullptr : tree(drafter).proposal(own);
}

bool GrowingTree::MayDraw(int node, int drafter) const {
  const int own = this->own(node, drafter);
  if (own >= 0) return tree(drafter).open(own);
  const Drafter& of = drafters_[static_cast<std::size_t>(drafter)];
  const Node& at = this->node(node);
  return of.below_others && !at.final && at.depth < of.max_depth;
}

Distribution GrowingTree::LeftNew(int node, int drafter) const {
  Distribution left = tree(drafter).remaining(own(node, drafter));
  for (int other = 0; other < drafters(); ++other)
    for (const Draw& draw : draws(node, other))
      if (left.Mass(draw.token) > 0) left = left.Without(draw.token);
  return left;
}

int GrowingTree::Adopt(int node, int drafter) {
  const int known = own(node, drafter);
  if (known >= 0) return known;
  Check(drafters_[static_cast<std::size_t>(drafter)].below_others,
        "a drafter that stays below its own tokens goes on below another's");
  const int parent = Adopt(this->node(node).parent, drafter);
  const int own = at(drafter).Adopt(parent, this->node(node).token);
  Note(drafter, own, node);
  return own;
}

void GrowingTree::Note(int drafter, int own, int node) {
  own_[Place(node, drafter)] = own;
  merged_[static_cast<std::size_t>(drafter)].push_back(node);
  const Drafter& of = drafters_[static_cast<std::size_t>(drafter)];
  if (this->node(node).final || this->node(node).depth >= of.max_depth)
    at(drafter).Close(own);
}

void GrowingTree::SetProposal(int drafter, int own, Proposal proposal) {
  at(drafter).SetProposal(own, std::move(proposal));
}

void GrowingTree::AddDraw(int drafter, int own, TokenId token,
                          Distribution judged_by, bool dropped) {
  TrunkTree& tree = at(drafter);
  const int before = tree.size();
  tree.SetNow(now_);
  const int child = tree.AddDraw(own, token, std::move(judged_by), dropped);
  now_ = tree.now();
  if (child < before) return;
  const int parent = merged(own, drafter);
  for (const int known : node(parent).children)
    if (node(known).token == token) return Note(drafter, child, known);
  const int made = size();
  nodes_[static_cast<std::size_t>(parent)].children.push_back(made);
  nodes_.push_back({.token = token,
                    .parent = parent,
                    .depth = node(parent).depth + 1,
                    .final = std::find(end_of_text_.begin(), end_of_text_.end(),
                                       token) != end_of_text_.end()});
  own_.resize(own_.size() + trees_.size(), -1);
  Note(drafter, child, made);
}

}  // namespace banyan
