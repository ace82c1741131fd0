#include "drafters/text/suffix/suffix.h"

#include <algorithm>
#include <cmath>

#include "core/base/common.h"
#include "core/base/params.h"
#include "core/model/context.h"
#include "drafters/rows.h"
#include "drafters/text/token_counts.h"
#include "drafters/workbench.h"

namespace banyan {

namespace {

// The smallest count that is at least this share of `whole`.
int LeastCount(double share, int whole) {
  int count = static_cast<int>(share * whole);
  while (count > 0 && static_cast<double>(count - 1) / whole >= share) --count;
  while (static_cast<double>(count) / whole < share) ++count;
  return count;
}

}  // namespace

bool FollowOn::IsWorse(const Open& a, const Open& b) {
  return a.count != b.count ? a.count < b.count : a.found > b.found;
}

void FollowOn::Find(const SuffixTree& tree, SuffixTree::Place from,
                    int budget) {
  pieces_.clear();
  open_.clear();
  found_ = 0;
  const int whole = tree.count(from.node);
  const int least = LeastCount(least_, whole);
  open_.push_back({whole, found_++, from.node, from.length, -1});
  double counted = 0;
  while (budget > 0 && !open_.empty()) {
    const Open best = TakeBest();
    const int length = std::min(budget, tree.length(best.node) - best.first);
    int above = best.above;
    if (length > 0) {
      above = static_cast<int>(pieces_.size());
      pieces_.push_back({best.node, best.first, length, best.above});
    }
    counted += static_cast<double>(length) * best.count;
    budget -= length;
    if (budget > 0) Follow(tree, best.node, above, least);
  }
  score_ = counted / whole;
}

void FollowOn::Follow(const SuffixTree& tree, int node, int above, int least) {
  tree.Children(node, least, children_);
  for (int child : children_) {
    open_.push_back({tree.count(child), found_++, child, 0, above});
    if (!as_tree_) break;
    std::push_heap(open_.begin(), open_.end(), IsWorse);
  }
}

FollowOn::Open FollowOn::TakeBest() {
  std::pop_heap(open_.begin(), open_.end(), IsWorse);
  const Open best = open_.back();
  open_.pop_back();
  return best;
}

DraftPlan FollowOn::Plan(const SuffixTree& tree) const {
  DraftPlan plan;
  std::vector<int> ends;  // of the pieces, in the plan
  for (const Piece& piece : pieces_) {
    int at = piece.above < 0 ? 0 : ends[static_cast<std::size_t>(piece.above)];
    for (int i = piece.first; i < piece.first + piece.length; ++i) {
      const double share = i > 0 ? 1
                                 : static_cast<double>(tree.count(piece.node)) /
                                       tree.count(tree.parent(piece.node));
      at = plan.Add(at, tree.token(piece.node, i), share);
    }
    ends.push_back(at);
  }
  return plan;
}

namespace {

// The steps that a token costs in each tree.
constexpr int kSuffixMostDepth = 256;

// A node is asked for at most as many children as this goes into 1.
constexpr double kLeastProbability = 0.001;

// What the authors add before they round a budget down, lest 0.1 times 30 be 2.
constexpr double kRounding = 1e-6;

}  // namespace

class SuffixSession : public CarryingSession<Suffix::PastTexts> {
 public:
  explicit SuffixSession(const Suffix& drafter)
      : CarryingSession(drafter.past_, drafter.options_.keep_texts),
        options_(drafter.options_),
        own_(options_.depth),
        follow_on_(options_.as_tree, options_.min_probability) {}

 protected:
  absl::Status Follow(const Context& context) override;
  DraftPlan Plan(const Context& context) override;

 private:
  // A place to draft from, and what that is worth.
  struct Choice {
    SuffixTree::Place place;
    int budget = 0;
    double score = 0;
  };

  int Budget(int match) const;
  // In the second tree, of the text's last 1, 2, .. tokens.
  std::vector<SuffixTree::Place> PastPlaces(
      absl::Span<const TokenId> text) const;
  // Of the places of ever longer matches in a tree.
  Choice Best(const SuffixTree& tree,
              absl::Span<const SuffixTree::Place> places);

  SuffixOptions options_;
  SuffixTree own_;
  std::size_t followed_ = 0;  // tokens of the text
  FollowOn follow_on_;
};

Suffix::Suffix(int vocab_size, const SuffixOptions& options,
               const SamplingRule& rule)
    : PlanDrafter(vocab_size, CountRule(rule),
                  options.keep_texts ? &past_ : nullptr),
      options_(options),
      past_("texts", PastTexts(options.depth, options.texts)) {}

std::unique_ptr<DraftSession> Suffix::NewSession() const {
  return std::make_unique<SuffixSession>(*this);
}

void Suffix::PastTexts::Add(absl::Span<const TokenId> output) {
  for (TokenId token : output) tree.Append(token);
  tree.EndText();
  for (; tree.texts() > limit_; ++dropped_) tree.DropOldest();
}

absl::Status SuffixSession::Follow(const Context& context) {
  const auto prompt = static_cast<std::size_t>(prompt_length());
  for (; followed_ < context.tokens.size(); ++followed_) {
    const TokenId token = context.tokens[followed_];
    own_.Append(token);
    if (keeps() && followed_ >= prompt) OwnStore().tree.Append(token);
  }
  return absl::OkStatus();
}

// Those of what was emitted are known. Where the last tokens do not stand, more
// of them do not either.
std::vector<SuffixTree::Place> SuffixSession::PastPlaces(
    absl::Span<const TokenId> text) const {
  const SuffixTree& tree = store().tree;
  std::vector<SuffixTree::Place> places;
  for (int node : tree.ends()) places.push_back(tree.EndOf(node));
  const std::size_t most =
      std::min(text.size(), static_cast<std::size_t>(options_.depth));
  while (places.size() < most) {
    SuffixTree::Place place;
    for (TokenId token : text.last(places.size() + 1))
      if (!tree.Step(token, place)) return places;
    places.push_back(place);
  }
  return places;
}

int SuffixSession::Budget(int match) const {
  const double budget =
      std::floor(options_.factor * match + options_.offset + kRounding);
  return static_cast<int>(std::clamp<double>(budget, 0, options_.max_tokens));
}

SuffixSession::Choice SuffixSession::Best(
    const SuffixTree& tree, absl::Span<const SuffixTree::Place> places) {
  Choice best;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const int budget = Budget(static_cast<int>(i) + 1);
    if (budget == 0) continue;
    follow_on_.Find(tree, places[i], budget);
    if (follow_on_.score() >= best.score)
      best = {places[i], budget, follow_on_.score()};
  }
  return best;
}

DraftPlan SuffixSession::Plan(const Context& context) {
  std::vector<SuffixTree::Place> own_places;
  for (int node : own_.ends()) own_places.push_back(own_.EndOf(node));
  const Choice own = Best(own_, own_places);
  const Choice past = Best(store().tree, PastPlaces(context.tokens));
  const bool from_past = past.score > own.score;
  const SuffixTree& tree = from_past ? store().tree : own_;
  const Choice& best = from_past ? past : own;
  if (best.score == 0) return {};
  follow_on_.Find(tree, best.place, best.budget);
  return follow_on_.Plan(tree);
}

namespace {

BuiltDrafter BuildSuffix(ParamsReader& in, SuffixOptions options,
                         Workbench& bench) {
  if (!in.Has("max_tokens")) options.max_tokens = options.depth;
  BANYAN_ASSIGN_OR_RETURN(const SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return std::make_unique<Suffix>(bench.target().vocab_size(), options, rule);
}

}  // namespace

DrafterRow SuffixRow() {
  Keys<SuffixOptions> keys;
  keys.Between(
      "depth", &SuffixOptions::depth, 2, kSuffixMostDepth,
      "The longest passage that is counted, match and draft together.");
  keys.AtLeast("max_tokens", &SuffixOptions::max_tokens, 1,
               "The most tokens that are drafted. Left out: `depth`.");
  keys.AtLeast("factor", &SuffixOptions::factor, 0.0,
               "The tokens that are drafted for each token of the match.");
  keys.Optional("offset", &SuffixOptions::offset,
                "Tokens that are drafted besides, whatever the match.");
  keys.Between("min_probability", &SuffixOptions::min_probability,
               kLeastProbability, 1.0,
               "The least share of the match's count that is drafted.");
  keys.OneOf("mode", &SuffixOptions::as_tree, {"path", "tree"},
             "What is drafted.");
  AddReset(keys, &SuffixOptions::keep_texts);
  AddTexts(keys);
  keys.Described(SamplingKey());
  return {
      .name = "suffix",
      .sentence =
          "SuffixDecoding: what followed earlier occurrences of the text's "
          "end, by counts; in this text or in earlier prompts.",
      .draw_kinds = EveryDrawKind(),
      .keys = keys.Rows(),
      .build = keys.ReadFor(BuildSuffix),
      .examples = {"{}",
                   "{mode: tree, depth: 4, factor: 2, offset: 1,"
                   " min_probability: 0.2}",
                   "{mode: tree, offset: 2, sampling: {temperature: 0.5}}"}};
}

}  // namespace banyan
