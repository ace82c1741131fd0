#include "drafters/text/trie/trie.h"

#include <algorithm>
#include <queue>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "core/model/context.h"
#include "drafters/rows.h"
#include "drafters/text/token_counts.h"
#include "drafters/workbench.h"
#include "tree/tree_policy.h"

namespace banyan {

int BranchTrie::Child(int index, TokenId token) const {
  const auto found = children_.find({index, token});
  return found == children_.end() ? kNone : found->second;
}

int BranchTrie::Find(absl::Span<const TokenId> path) const {
  int at = 0;
  for (std::size_t i = 0; i < path.size() && at != kNone; ++i)
    at = Child(at, path[i]);
  return at;
}

void BranchTrie::Put(absl::Span<const TokenId> tokens, Source source) {
  (source == Source::kPrompt ? at(0).prompt : at(0).output) += 1;
  int parent = 0;
  for (TokenId token : tokens) {
    int child = Child(parent, token);
    if (child == kNone) child = AddChild(parent, token);
    Count(parent, child, source);
    parent = child;
  }
}

// Adds a child after all others, in a group of its own: its counts are 0.
int BranchTrie::AddChild(int parent, TokenId token) {
  const int child = static_cast<int>(nodes_.size());
  nodes_.push_back({.token = token});
  children_.emplace(std::pair(parent, token), child);
  PutIn(parent, child, node(parent).last_child);
  return child;
}

void BranchTrie::Count(int parent, int child, Source source) {
  const int before = TakeOut(parent, child);
  (source == Source::kPrompt ? at(child).prompt : at(child).output) += 1;
  PutIn(parent, child, before);
}

// Takes a child out of its siblings. Returns the one before it.
int BranchTrie::TakeOut(int parent, int child) {
  const Node gone = node(child);
  (gone.previous == kNone ? at(parent).first_child : at(gone.previous).next) =
      gone.next;
  (gone.next == kNone ? at(parent).last_child : at(gone.next).previous) =
      gone.previous;
  if (head(gone.group) == child) {
    const bool more = gone.next != kNone && node(gone.next).group == gone.group;
    if (more)
      head(gone.group) = gone.next;
    else
      free_.push_back(gone.group);
  }
  return gone.previous;
}

// Puts a child after the last of `before` and those in front of it that is
// worth at least as much.
void BranchTrie::PutIn(int parent, int child, int before) {
  const double worth = Worth(child);
  while (before != kNone && Worth(before) < worth)
    before = node(head(node(before).group)).previous;
  const int next =
      before == kNone ? node(parent).first_child : node(before).next;
  at(child).previous = before;
  at(child).next = next;
  (before == kNone ? at(parent).first_child : at(before).next) = child;
  (next == kNone ? at(parent).last_child : at(next).previous) = child;
  if (before != kNone && Worth(before) == worth) {
    at(child).group = node(before).group;
    return;
  }
  if (free_.empty()) {
    free_.push_back(static_cast<int>(heads_.size()));
    heads_.push_back(kNone);
  }
  at(child).group = free_.back();
  free_.pop_back();
  head(node(child).group) = child;
}

BranchTrie BranchTrie::Weighed(const Weights& weights) const {
  Check(node(0).prompt == 0 && weights.output > 0, "counts of outputs alone");
  BranchTrie weighed = *this;
  weighed.weights_ = weights;
  return weighed;
}

int BranchTrie::Prune() {
  Check(node(0).prompt == 0, "counts of outputs alone");
  BranchTrie kept(weights_);
  kept.at(0).output = node(0).output / 2;
  // Nodes that stay, and what they are in `kept`.
  std::vector<std::pair<int, int>> parents = {{0, 0}};
  for (std::size_t i = 0; i < parents.size(); ++i) {
    const auto [old_parent, parent] = parents[i];
    for (int old = node(old_parent).first_child; old != kNone;
         old = node(old).next) {
      if (node(old).output <= 1) break;  // as those after it
      const int child = kept.AddChild(parent, node(old).token);
      const int before = kept.TakeOut(parent, child);
      kept.at(child).output = node(old).output / 2;
      kept.PutIn(parent, child, before);
      parents.emplace_back(old, child);
    }
  }
  const int dropped = size() - kept.size();
  *this = std::move(kept);
  return dropped;
}

const BranchStore::Tries* BranchStore::Of(TokenId first) const {
  const auto found = tries_.find(first);
  return found == tries_.end() ? nullptr : &found->second;
}

void BranchStore::Put(absl::Span<const TokenId> text, std::size_t at,
                      Source source) {
  if (at + 1 >= text.size()) return;  // nothing comes after it
  const absl::Span<const TokenId> branch = text.subspan(at + 1, length_);
  auto found = tries_.find(text[at]);
  if (found == tries_.end())
    found = tries_.emplace(text[at], Tries(BranchTrie(BranchTrie::Weights())))
                .first;
  Tries& tries = found->second;
  if (source == Source::kPrompt) {
    if (!tries.mixed_.has_value()) tries.mixed_ = tries.outputs_->Weighed(mix_);
    tries.mixed_->Put(branch, source);
    return;
  }
  const int before = tries.outputs_->size();
  tries.outputs_.Own().Put(branch, source);
  output_nodes_ += tries.outputs_->size() - before;
  if (tries.mixed_.has_value()) tries.mixed_->Put(branch, source);
}

std::int64_t BranchStore::TakeOver(absl::Span<const TokenId> output,
                                   const StoreLimits& limits) {
  for (std::size_t at = 0; at < output.size(); ++at)
    Put(output, at, Source::kOutput);
  std::int64_t dropped = 0;
  for (TokenId first : output) {
    for (auto tries = tries_.find(first);
         tries != tries_.end() &&
         tries->second.outputs().size() > limits.output_nodes;
         tries = tries_.find(first))
      dropped += Prune(tries);
  }
  while (output_nodes_ > limits.nodes)
    for (auto tries = tries_.begin(); tries != tries_.end();)
      dropped += Prune(tries++);
  return dropped;
}

// Takes the trie away if nothing is left of it.
std::int64_t BranchStore::Prune(Map::iterator tries) {
  Check(!tries->second.mixed_.has_value(), "branches of outputs alone");
  const int dropped = tries->second.outputs_.Own().Prune();
  output_nodes_ -= dropped;
  if (tries->second.outputs().size() == 0) tries_.erase(tries);
  return dropped;
}

namespace {

constexpr int kNone = BranchTrie::kNone;

// A node that may come next: its siblings before it and its parent are in.
struct Candidate {
  double worth;
  int depth;
  int number;  // how many were found before it
  int node;    // of the trie
  int parent;  // of the plan
};

struct BranchComesLater {
  bool operator()(const Candidate& a, const Candidate& b) const {
    if (a.worth != b.worth) return a.worth < b.worth;
    if (a.depth != b.depth) return a.depth < b.depth;
    return a.number > b.number;
  }
};

class Retrieval {
 public:
  Retrieval(const BranchTrie& mixed, int below, int depth)
      : mixed_(mixed), depth_(depth), places_({below}) {}

  // Adds the best nodes in the order of `trie`, below its node `below`, until
  // the plan has `nodes` nodes.
  void Add(const BranchTrie& trie, int below, int nodes) {
    best_ = {};
    found_ = 0;
    Find(trie, trie.node(below).first_child, 0, 1);
    while (!best_.empty() && plan_.size() - 1 < nodes) {
      const Candidate next = best_.top();
      best_.pop();
      const int node = InPlan(next.parent, trie.node(next.node).token);
      Find(trie, trie.node(next.node).next, next.parent, next.depth);
      if (next.depth < depth_)
        Find(trie, trie.node(next.node).first_child, node, next.depth + 1);
    }
  }

  DraftPlan Take() && { return std::move(plan_); }

 private:
  void Find(const BranchTrie& trie, int node, int parent, int depth) {
    if (node != kNone)
      best_.push({trie.Worth(node), depth, found_++, node, parent});
  }

  int InPlan(int parent, TokenId token) {
    const int known = plan_.Child(parent, token);
    if (known >= 0) return known;
    const int above = places_[static_cast<std::size_t>(parent)];
    const int place = mixed_.Child(above, token);
    places_.push_back(place);
    return plan_.Add(parent, token, mixed_.Worth(place) / mixed_.Worth(above));
  }

  const BranchTrie& mixed_;
  int depth_;
  DraftPlan plan_;
  std::vector<int> places_;  // by node of the plan, in mixed_
  std::priority_queue<Candidate, std::vector<Candidate>, BranchComesLater>
      best_;
  int found_ = 0;
};

}  // namespace

DraftPlan Retrieve(const BranchStore::Tries& tries,
                   absl::Span<const TokenId> path, const RetrievalSize& size) {
  const int below = tries.mixed().Find(path);
  if (below == kNone) return {};
  Retrieval retrieval(tries.mixed(), below, size.depth);
  const int of_outputs = tries.outputs().Find(path);
  if (of_outputs != kNone)
    retrieval.Add(tries.outputs(), of_outputs, size.output_nodes);
  retrieval.Add(tries.mixed(), below, size.nodes);
  return std::move(retrieval).Take();
}

namespace {

// What a token of an output weighs beside one of the prompt, as published.
constexpr double kOutputWeight = 1e-4;

// The nodes that a token puts in; deeper ones are seldom reached.
constexpr int kMostLength = 64;
constexpr int kTrieMostMatch = 8;

}  // namespace

class TrieSession : public CarryingSession<Trie::Outputs> {
 public:
  explicit TrieSession(const Trie& drafter)
      : CarryingSession(drafter.outputs_, drafter.options_.keep_outputs),
        options_(drafter.options_) {}

 protected:
  void Start(const Context& context) override;
  absl::Status Follow(const Context& context) override;
  DraftPlan Plan(const Context& context) override;

 private:
  // Tokens of a branch after its first.
  std::size_t Length() const {
    return static_cast<std::size_t>(options_.branch_length +
                                    options_.max_match - 1);
  }

  TrieOptions options_;
  std::size_t next_branch_ = 0;  // of the output: where it begins in the text
};

Trie::Trie(int vocab_size, const TrieOptions& options, const SamplingRule& rule)
    : PlanDrafter(vocab_size, CountRule(rule),
                  options.keep_outputs ? &outputs_ : nullptr),
      options_(options),
      outputs_("nodes",
               {.branches = BranchStore(
                    options.branch_length + options.max_match - 1,
                    {.prompt = 1 - kOutputWeight, .output = kOutputWeight}),
                .limits = options.limits}) {}

std::unique_ptr<DraftSession> Trie::NewSession() const {
  return std::make_unique<TrieSession>(*this);
}

void TrieSession::Start(const Context& context) {
  next_branch_ = static_cast<std::size_t>(prompt_length());
  const absl::Span<const TokenId> prompt =
      absl::MakeSpan(context.tokens).first(next_branch_);
  for (std::size_t at = 0; at < prompt.size(); ++at)
    OwnStore().branches.Put(prompt, at, Source::kPrompt);
}

absl::Status TrieSession::Follow(const Context& context) {
  const absl::Span<const TokenId> text = context.tokens;
  for (; next_branch_ + Length() < text.size(); ++next_branch_)
    OwnStore().branches.Put(text, next_branch_, Source::kOutput);
  return absl::OkStatus();
}

DraftPlan TrieSession::Plan(const Context& context) {
  const absl::Span<const TokenId> text = context.tokens;
  DraftPlan plan;
  for (std::size_t size =
           std::min(text.size(), static_cast<std::size_t>(options_.max_match));
       size >= 1; --size) {
    const absl::Span<const TokenId> match = text.last(size);
    const BranchStore::Tries* tries = store().branches.Of(match.front());
    if (tries == nullptr) continue;
    DraftPlan found = Retrieve(*tries, match.subspan(1),
                               {.depth = options_.branch_length,
                                .nodes = options_.nodes,
                                .output_nodes = (options_.nodes + 1) / 2});
    if (found.size() > 1) plan = std::move(found);
    if (plan.size() >= options_.branch_length) break;
  }
  return plan;
}

namespace {

BuiltDrafter BuildTrie(ParamsReader& in, const TrieOptions& options,
                       Workbench& bench) {
  in.Ensure(options.limits.nodes >= options.limits.output_nodes, "max_nodes",
            absl::StrCat("must be at least max_output_nodes, which is ",
                         options.limits.output_nodes));
  BANYAN_ASSIGN_OR_RETURN(const SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return std::make_unique<Trie>(bench.target().vocab_size(), options, rule);
}

}  // namespace

DrafterRow TrieRow() {
  Keys<TrieOptions> keys;
  keys.Between("branch_length", &TrieOptions::branch_length, 1, kMostLength,
               "The tokens of a branch after its match.");
  keys.Between("max_match", &TrieOptions::max_match, 1, kTrieMostMatch,
               "The most tokens that are matched.");
  keys.Between("nodes", &TrieOptions::nodes, 1, kMaxDraws,
               "The most nodes that are drafted.");
  keys.AtLeast(
      "max_output_nodes",
      [](TrieOptions& read) -> int& { return read.limits.output_nodes; }, 1,
      "The most nodes of one trie of outputs.");
  keys.Optional(
      "max_nodes", [](TrieOptions& read) -> int& { return read.limits.nodes; },
      "The most nodes of all tries of outputs together.");
  AddReset(keys, &TrieOptions::keep_outputs);
  keys.Described(SamplingKey());
  return {.name = "trie",
          .sentence =
              "PIA's lookahead: the most frequent continuations of the last "
              "tokens, in the prompt and in outputs.",
          .draw_kinds = EveryDrawKind(),
          .keys = keys.Rows(),
          .build = keys.ReadFor(BuildTrie),
          .examples = {"{}",
                       "{branch_length: 1, max_match: 1, nodes: 2,"
                       " sampling: {temperature: 0.5}}"}};
}

}  // namespace banyan
