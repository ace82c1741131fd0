// Drafting from a given text (LLMA, Yang et al., "Inference with Reference",
// arXiv:2304.04487; input-guided aggressive decoding, Sun et al.,
// arXiv:2106.04970).
//
// Claim. An answer from a text, or a rewrite of one, repeats long spans of it.
//
// Rule. The reference is a text of its own or the prompt. While the output
// follows it, the draft is its next `span` tokens. Where the output leaves it,
// the last `match` committed tokens are looked for in it, and the draft is what
// follows them there:
//   quote:   at the first such place after the one copied last, else at the
//            first of all (LLMA looks for any);
//   rewrite: at the only such place; several, and nothing is drafted until the
//            text is less ambiguous. And the first draft is the reference from
//            its beginning: the answer is expected to be nearly that.
//
// Promise() is how many tokens followed the reference so far, `span` at most.
//
// A reference gives no distribution of what follows: draws are deterministic.
//
// What differs from LLMA. It matches tokens that were generated, not those of
// the prompt, and tries matches of 5 down to 1 tokens, the longest first. Here
// the match is of one length, `match`, in all of the text; `quote` and
// `rewrite` settle which place is taken where several match.
//
// A token costs a look-up, however long the reference is, and a search among
// the places of tokens that occur often. A prompt is indexed when it begins.
#ifndef BANYAN_DRAFTERS_TEXT_REFERENCE_REFERENCE_H_
#define BANYAN_DRAFTERS_TEXT_REFERENCE_REFERENCE_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "drafters/drafter.h"
#include "drafters/text/plan_drafter.h"

namespace banyan {

// A text with an index of the places after each gram of `match` tokens.
class ReferenceText {
 public:
  ReferenceText(std::vector<TokenId> tokens, int match);

  absl::Span<const TokenId> tokens() const { return tokens_; }
  // Where a token follows these, ascending.
  absl::Span<const std::size_t> After(absl::Span<const TokenId> gram) const;

 private:
  using Gram = absl::InlinedVector<TokenId, 4>;

  std::vector<TokenId> tokens_;
  absl::flat_hash_map<Gram, std::vector<std::size_t>> places_;
};

struct ReferenceOptions {
  int match = 2;
  int span = 16;
  bool rewrite = false;
};

class Reference : public PlanDrafter {
 public:
  // `given` null: the prompt. Its grams are of options.match tokens.
  Reference(int vocab_size, const ReferenceOptions& options,
            std::shared_ptr<const ReferenceText> given);

  std::unique_ptr<DraftSession> NewSession() const override;

 private:
  ReferenceOptions options_;
  std::shared_ptr<const ReferenceText> given_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_REFERENCE_REFERENCE_H_
