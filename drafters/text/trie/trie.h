// Drafting from a trie of branches of the prompt and of outputs (the lookahead
// of PIA, which is not lookahead decoding).
//
// Claim. Where the same words recur, above all in answers of one service,
// several continuations are known, and how often each was taken. A tree of the
// most frequent ones is a draft at almost no cost.
//
// Rule. A branch is a token and the `branch_length` + `max_match` - 1 tokens
// after it. Every branch of the prompt is put into the trie of its first token
// when the prompt begins, every branch of the output when it is complete, the
// short ones at its end when it ends. A node knows how often prompts (i) and
// outputs (o) put it, and is worth
//
//   (1 - w) i + w o,  w = 1e-4,
//
// so what the prompt says comes first and outputs decide among equals. A draft
// is the trie below the last `max_match` tokens, `branch_length` deep: of its
// nodes the `nodes` best, half of them by o alone, the rest by worth. If it has
// fewer than `branch_length` - 1 of them, what follows one token less is looked
// for; the last draft found is taken. The score of a node is its share of its
// parent's worth.
//
// Why the output distribution is kept. The draft is made when a round is
// committed, from committed text and from earlier prompts, as a distribution or
// as a ranking. Verifiers judge it as such (docs/losslessness.md), at any
// sampling rule. Published with walking down the tree as long as the target's
// own token is in it, which is `match` with deterministic draws.
//
// What is kept. The prompt's counts go when it ends. With `reset: never` those
// of outputs stay, those of a prompt that ends taken over in the order of
// prompts. Then a trie that has more than `max_output_nodes` is pruned: counts
// are halved, and what was counted once or less is dropped, with all below; and
// so is every trie while all together have more than `max_nodes`. While a
// prompt is decoded its own branches come on top: a branch_length a token.
//
// What differs from the publication. The root is not one of the `nodes`, so 63
// are its 64. Its program, when it chooses among more nodes than fit, takes all
// that equal the last of the best outputs in depth-first order, and loses track
// of the mix, so that without 32 nodes of outputs anything may enter; here they
// are the best, as its text says. Its prompt begins at the second token; its
// limit of all nodes is 65,536 a trie, which the prompts' nodes alone reach,
// and nothing limits how many tries there are; it prunes once every 1,024
// tries. It cuts a text at its end-of-text token and has words at which nothing
// begins; here a text ends there anyway, and there are none.
//
// Reference: Zhao, Xie, Liang, Zhuang, Gu, "Lookahead: An Inference
// Acceleration Framework for Large Language Model with Lossless Generation
// Accuracy" (arXiv:2312.12728); alipay/PainlessInferenceAcceleration, 78c9b00.
#ifndef BANYAN_DRAFTERS_TEXT_TRIE_TRIE_H_
#define BANYAN_DRAFTERS_TEXT_TRIE_TRIE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/text/carried_texts.h"
#include "drafters/text/plan_drafter.h"

namespace banyan {

// BranchTrie: the branches of text that begin with one token, with how often
// each of their beginnings was put in.
//
// Each node counts how often it was put by prompts and by outputs, and is worth
//
//   weights.prompt * prompt + weights.output * output.
//
// A node is worth no more than its parent. Siblings stand by falling worth, of
// equal ones that first which came first to be worth it, so the best branches
// are found without a look at the others: siblings of one worth form a group
// that knows its head, and one whose worth rises leaps over whole groups.
//
// Putting costs a look-up a token, and a step for each worth that is leapt
// over: one where only the output's counts rise, by one.

// Who said a branch.
enum class Source { kPrompt, kOutput };

class BranchTrie {
 public:
  static constexpr int kNone = -1;

  struct Weights {
    double prompt = 0;
    double output = 1;
  };
  struct Node {
    TokenId token = 0;
    int first_child = kNone;
    int last_child = kNone;
    int next = kNone;
    int previous = kNone;
    int group = 0;
    double prompt = 0;
    double output = 0;
  };

  // Node 0 stands for the first token, whose own id it does not know.
  explicit BranchTrie(const Weights& weights) : weights_(weights), nodes_(1) {}

  // Nodes below the first token.
  int size() const { return static_cast<int>(nodes_.size()) - 1; }
  const Node& node(int index) const {
    return nodes_[static_cast<std::size_t>(index)];
  }
  double Worth(int index) const {
    return weights_.prompt * node(index).prompt +
           weights_.output * node(index).output;
  }
  // The node's child with this token, and the node of a path from node 0.
  int Child(int index, TokenId token) const;
  int Find(absl::Span<const TokenId> path) const;

  // Counts a branch once more, given what comes after its first token.
  void Put(absl::Span<const TokenId> tokens, Source source);

  // The same counts by other weights, in the same order of siblings. Requires
  // that all of them are outputs' and that these weigh more than 0.
  BranchTrie Weighed(const Weights& weights) const;
  // Halves the counts of outputs; what was counted once or less is dropped,
  // with all below. Requires that no prompt has put anything. Returns how many
  // nodes it dropped.
  int Prune();

 private:
  Node& at(int index) { return nodes_[static_cast<std::size_t>(index)]; }
  int& head(int group) { return heads_[static_cast<std::size_t>(group)]; }
  int AddChild(int parent, TokenId token);
  void Count(int parent, int child, Source source);
  int TakeOut(int parent, int child);
  void PutIn(int parent, int child, int before);

  Weights weights_;
  std::vector<Node> nodes_;
  absl::flat_hash_map<std::pair<int, TokenId>, int> children_;
  // By group its first node; groups that are free.
  std::vector<int> heads_;
  std::vector<int> free_;
};

// BranchStore: one BranchTrie for each first token, of what outputs said and,
// while a prompt is decoded, of what it says.
//
// Copies share each trie until one of them puts into it. Where a prompt put a
// branch there are two tries of its first token: one ranks by the counts of
// outputs, as those that are kept do, one by the mix.
struct StoreLimits {
  int output_nodes = 512;  // of one trie
  int nodes = 1'048'576;   // of all tries together
};

class BranchStore {
 public:
  // The tries of one first token.
  class Tries {
   public:
    explicit Tries(BranchTrie outputs) : outputs_(std::move(outputs)) {}
    const BranchTrie& outputs() const { return *outputs_; }
    // Where no prompt put anything, that of the outputs.
    const BranchTrie& mixed() const {
      return mixed_.has_value() ? *mixed_ : *outputs_;
    }

   private:
    friend class BranchStore;
    CopyOnWrite<BranchTrie> outputs_;
    std::optional<BranchTrie> mixed_;
  };

  // `length` tokens of a branch are kept after its first one, and `mix` is what
  // its counts weigh against one another.
  BranchStore(int length, const BranchTrie::Weights& mix)
      : length_(static_cast<std::size_t>(length)), mix_(mix) {}

  // Null: no branch begins with it.
  const Tries* Of(TokenId first) const;
  // Nodes of the outputs' tries.
  std::int64_t output_nodes() const { return output_nodes_; }

  // The branch that begins at place `at` of a text, as far as the text goes.
  void Put(absl::Span<const TokenId> text, std::size_t at, Source source);
  // An output as a whole, and then within the limits again: a trie of too many
  // nodes that the output put into is pruned as often as it takes; then, if all
  // together are still too many, so is every trie. Requires that no prompt put
  // anything. Returns how many nodes were dropped.
  std::int64_t TakeOver(absl::Span<const TokenId> output,
                        const StoreLimits& limits);

 private:
  using Map = absl::flat_hash_map<TokenId, Tries>;

  std::int64_t Prune(Map::iterator tries);

  std::size_t length_;
  BranchTrie::Weights mix_;
  std::int64_t output_nodes_ = 0;
  Map tries_;
};

// Retrieve: the draft plan of the best branches of a trie.
struct RetrievalSize {
  int depth = 1;
  int nodes = 1;
  int output_nodes = 0;  // of these, for the best by the counts of outputs
};

// Returns, of the branches that go on from `path`, the nodes worth most: first
// `output_nodes` by the counts of outputs, then others by the mix. Of equal
// ones the deeper comes first, then the one found first. A node's score is its
// share of its parent's worth in the mix. Empty if nothing goes on from there.
//
// Costs the logarithm of the size for each node, whatever the tries hold.
DraftPlan Retrieve(const BranchStore::Tries& tries,
                   absl::Span<const TokenId> path, const RetrievalSize& size);

struct TrieOptions {
  int branch_length = 12;
  int max_match = 2;
  int nodes = 63;
  StoreLimits limits = {};
  // What outputs said stays for the next prompt.
  bool keep_outputs = false;
};

class Trie : public PlanDrafter {
 public:
  // All of the sizes at least 1.
  Trie(int vocab_size, const TrieOptions& options, const SamplingRule& rule);

  std::unique_ptr<DraftSession> NewSession() const override;

 private:
  // The branches of earlier prompts' outputs.
  struct Outputs {
    void Add(absl::Span<const TokenId> output) {
      dropped_nodes += branches.TakeOver(output, limits);
    }
    std::int64_t held() const { return branches.output_nodes(); }
    std::int64_t dropped() const { return dropped_nodes; }

    BranchStore branches;
    StoreLimits limits;
    std::int64_t dropped_nodes = 0;
  };
  friend class TrieSession;

  TrieOptions options_;
  CarriedTexts<Outputs> outputs_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_TRIE_TRIE_H_
