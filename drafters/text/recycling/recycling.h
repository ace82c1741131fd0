// Token Recycling: drafts what the target ranked first after a token before.
//
// Claim. Every node of a tree that the target scores, refused ones too, shows
// what the target ranks first after its token. The candidates that were not
// taken are mostly taken soon, and they cost only a table.
//
// Rule. Let top_k(r) be the k tokens of largest logits of a row r, best first,
// and M a table of one such list a token. After each pass, for every node n of
// the tree, the root too, in depth-first order,
//
//   M[token(n)] <- top_k(row(n)),
//
// so of two nodes with one token the later one stays. At a node the candidates
// are M[its token], in their order, with scores that halve with the rank: the
// table knows an order alone, and masses would be those of another context.
// A static tree takes them by rank, as published.
//
// Why the output distribution is kept. The table is written from committed
// rounds before the draft is made. So the draws are fixed by the context and
// are judged as such (docs/losslessness.md), at any sampling rule. Published
// for greedy text only.
//
// Cases. Logits are read as the target gives them, before temperature and bans:
// at temperature 0 without penalties the first candidate is what the target
// said there. Probes are no text and are not read. A token that nothing is
// known of proposes nothing; as published the table begins with zeros, which
// drafts token 0 in those places. The prompt's own rows are not seen (nor are
// they as published). Which of two nodes with one token stays is left open on a
// GPU as published.
//
// With `reset: never` the table goes from prompt to prompt, as published: a
// prompt begins with what was taken over and hands back the rows that it wrote,
// the later prompt's in the place of the earlier one's. It has one row a token,
// so it never drops any.
//
// Cost. A round reads the best of one row of V logits for each distinct token
// of its tree: O(V) each, whatever the length of the text, and all that remains
// is a few copies of k numbers.
//
// Reference: Luo et al., "Turning Trash into Treasure: Accelerating Inference
// of Large Language Models with Token Recycling" (arXiv:2408.08696), whose k is
// 8; its program's tree of 80 nodes is configs/tree/token_recycling.json.
#ifndef BANYAN_DRAFTERS_TEXT_RECYCLING_RECYCLING_H_
#define BANYAN_DRAFTERS_TEXT_RECYCLING_RECYCLING_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"
#include "drafters/text/carried_texts.h"

namespace banyan {

// SuccessorTable: for each token, the few tokens that were ranked first after
// it when a row of it was last seen.
//
// It holds vocab_size * width token ids of four bytes and nothing else: 64 KiB
// for 2,048 tokens and a width of 8, 4 MiB for 131,072.
class SuccessorTable {
 public:
  // Of nothing known.
  SuccessorTable(int vocab_size, int width)
      : vocab_size_(vocab_size),
        width_(width),
        ids_(static_cast<std::size_t>(vocab_size) *
                 static_cast<std::size_t>(width),
             kNone) {}

  bool Has(TokenId token) const { return token >= 0 && token < vocab_size_; }
  int width() const { return width_; }
  // How many tokens something is known of.
  int known() const { return known_; }

  // The best first; none where nothing is known, as of a token outside the
  // vocabulary.
  absl::Span<const TokenId> After(TokenId token) const;
  // In the place of what was known. Requires a token of the vocabulary and
  // between 1 and width() successors.
  void Set(TokenId token, absl::Span<const TokenId> ranked);

 private:
  static constexpr TokenId kNone = -1;

  int vocab_size_;
  int width_;
  int known_ = 0;
  std::vector<TokenId> ids_;  // rows of width_, filled up with kNone
};

struct RecyclingOptions {
  int successors = 8;  // of each token; at most kMostCandidates
  // What was seen in one prompt stays for the next.
  bool keep_table = false;
};

class Recycling : public Drafter, private CarriedState {
 public:
  Recycling(int vocab_size, const RecyclingOptions& options);

  std::unique_ptr<DraftSession> NewSession() const override;
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override;

 private:
  absl::Status Absorb(absl::Span<const TokenId> text,
                      absl::string_view learnt) override;
  absl::Status CheckLesson(absl::Span<const TokenId> text,
                           absl::string_view learnt) const override;
  std::vector<Carried> holdings() const override;

  int vocab_size_;
  CopyOnWrite<SuccessorTable> table_;  // of earlier prompts
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_RECYCLING_RECYCLING_H_
