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

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/row.h"
#include "drafters/text/carried_texts.h"
#include "drafters/text/draft_plan.h"
#include "drafters/text/plan_drafter.h"
#include "drafters/text/trie/branch_store.h"

namespace banyan {

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
  class Sequence;

  TrieOptions options_;
  CarriedTexts<Outputs> outputs_;
};

DrafterRow TrieRow();

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_TRIE_TRIE_H_
