// A language model of another vocabulary as drafter, by the text it writes.
//
// Claim. A proposal is one token, which hangs on the committed text alone, so
// every verifier that takes ranked candidates keeps the target's law, at every
// temperature.
//
// Rule. The model reads the committed text in its own tokens (OwnReader) and
// writes on greedily, with its own. What it wrote is put behind the committed
// text, and the target's tokenizer cuts both together (GrowingText):
//
//   E_target(text + written) = E_target(text), z_1, z_2, ...
//
// z_1 is the candidate at the root, z_2 at its child, as long as they stay
// however the text goes on. It writes no further than the tree asks, at most
// `write` tokens a round. Where it ends the text, all of it stays, and the
// target's end of a text comes behind.
//
// Why only what stays. The last tokens of a text that is not whole are those
// of halves of words, which the target, taught whole texts, does not say.
//
// Cases. If what is written would be cut otherwise than where the committed
// text ends, the target does not go on so, and nothing is drafted: behind a
// prompt that ends inside a word, mostly. Where the committed text ends inside
// a character, the z begin with the tokens that cut it, or nothing is drafted.
// A written token that spells nothing ends the writing, as does a full context.
//
// What differs from the publications (universal assisted generation in
// transformers; arXiv 2502.05202, string-level exact match): they draft all
// that was written, and find by comparing two cuts of the latest tokens where
// the new ones begin.
#ifndef BANYAN_DRAFTERS_MODELS_RETOKENIZED_RETOKENIZED_H_
#define BANYAN_DRAFTERS_MODELS_RETOKENIZED_RETOKENIZED_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/tokenizer/growing_text.h"
#include "core/tokenizer/vocabulary_map.h"
#include "drafters/drafter.h"
#include "drafters/models/own_reader.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

class Retokenized : public Drafter {
 public:
  // Keys: `model`, `write`.
  static absl::StatusOr<std::unique_ptr<Drafter>> Build(ParamsReader& in,
                                                        Workbench& bench);

  // `vocab_size` is the target's; `write` at least 1.
  Retokenized(int vocab_size, OtherModel model, int write);

  std::unique_ptr<Drafter> Clone() const override;
  std::vector<DraftLaw> laws() const override;
  bool proposes_ahead() const override { return true; }
  absl::Status Begin(const Context& context) override;
  absl::StatusOr<std::vector<Distribution>> Propose(
      const Context& context, const TrunkTree& tree,
      absl::Span<const int> nodes) override {
    return ProposeAlone(context, tree, nodes);
  }
  absl::StatusOr<std::vector<std::vector<Distribution>>> ProposeAll(
      absl::Span<const DraftRequest> requests) override;
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;

 private:
  void StartRound();
  // Whether another token is to be written before the request can be answered.
  bool WritesFor(const DraftRequest& request) const;
  // The rows whose last gives the next token.
  absl::StatusOr<TokenBatch> NextBatch();
  absl::Status Write(const TokenBatch& batch, const Scores& scores);
  absl::Status Cut(TokenId token);
  std::vector<Distribution> Answer(const DraftRequest& request) const;
  bool IsDrafted(absl::Span<const TokenId> path) const;

  int vocab_size_;
  OtherModel parts_;
  int write_;
  OwnReader reader_;
  OwnText target_text_;  // the committed text as the target's tokenizer cuts it
  // Of the round:
  std::vector<TokenId> written_;
  std::string written_bytes_;  // those that are no whole character yet
  bool is_done_ = false;       // nothing more is written
  // The committed text and what is written behind it, in the target's tokens;
  // those of the committed text, some of the last; and z.
  std::optional<GrowingText> growing_;
  std::vector<TokenId> committed_;
  std::vector<TokenId> drafted_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_MODELS_RETOKENIZED_RETOKENIZED_H_
