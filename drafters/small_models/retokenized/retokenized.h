// A language model of another vocabulary as drafter, by the text it writes.
//
// Claim. A proposal is one token, which depends on the committed text alone. So
// every verifier that takes ranked candidates keeps the target's distribution,
// at every temperature.
//
// Rule. The model reads the committed text in its own tokens (OwnReader) and
// writes on greedily, with its own. What it wrote is put after the committed
// text, and the target's tokenizer cuts both together (GrowingText):
//
//   E_target(text + written) = E_target(text), z_1, z_2, ...
//
// z_1 is the candidate at the root, z_2 at its child, as long as they stay
// however the text goes on. It writes no further than the tree asks, at most
// `write` tokens a round. Where it ends the text, all of it stays, and the
// target's end of a text follows.
//
// Why only what stays. The last tokens of a text that is not whole are those
// of halves of words, which the target, taught whole texts, does not say.
//
// Cases. If what is written would be cut otherwise than where the committed
// text ends, the target does not go on so, and nothing is drafted: after a
// prompt that ends inside a word, mostly. Where the committed text ends inside
// a character, the z begin with the tokens that cut it, or nothing is drafted.
// A written token that spells nothing ends the writing, as does a full context.
//
// What differs from the publications (universal assisted generation in
// transformers; arXiv 2502.05202, string-level exact match): they draft all
// that was written, and find by comparing two cuts of the latest tokens where
// the new ones begin.
#ifndef BANYAN_DRAFTERS_SMALL_MODELS_RETOKENIZED_RETOKENIZED_H_
#define BANYAN_DRAFTERS_SMALL_MODELS_RETOKENIZED_RETOKENIZED_H_

#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"
#include "drafters/small_models/own_reader.h"
#include "drafters/workbench.h"

namespace banyan {

class Retokenized : public Drafter {
 public:
  // `vocab_size` is the target's; `write` at least 1.
  Retokenized(int vocab_size, OtherModel model, int write);

  std::unique_ptr<DraftSession> NewSession() const override;
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override;

 private:
  friend class RetokenizedSession;

  int vocab_size_;
  OtherModel parts_;
  int write_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_SMALL_MODELS_RETOKENIZED_RETOKENIZED_H_
