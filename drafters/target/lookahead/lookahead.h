// Lookahead decoding: the target guesses ahead of itself in the same pass that
// judges what it guessed before.
//
// Beside every tree the pass scores a window of tokens to come as probes
// (drafters/target/lookahead/window.h), which yields new grams for a pool. At a
// node the candidates are what comes next in the pool's grams that begin with
// the root and then the node's path, newest first, with halving scores. So the
// tree's policy decides how many of them are drafted, and a verifier of
// deterministic draws judges them.
//
// Cases. A gram is a guess and no distribution: the draws are deterministic,
// and the text follows the target's distribution whatever the pool holds, at
// any sampling rule. The window itself iterates on the target's best tokens, as
// published, so at a temperature it guesses the likeliest text. Where the
// context has no room for the window none is planted, and the pool stays as it
// is. Not covered: a pool kept from prompt to prompt, and a window spread over
// several devices.
//
// Reference: Fu, Bailis, Stoica, Zhang, "Break the Sequential Dependency of LLM
// Inference Using Lookahead Decoding" (arXiv:2402.02057), algorithm 2. Its N is
// `level`, its W `window`, its G `guesses`; the defaults are those of the
// published program's example.
#ifndef BANYAN_DRAFTERS_TARGET_LOOKAHEAD_LOOKAHEAD_H_
#define BANYAN_DRAFTERS_TARGET_LOOKAHEAD_LOOKAHEAD_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"
#include "drafters/row.h"
#include "drafters/target/lookahead/window.h"

namespace banyan {

struct LookaheadOptions {
  WindowSize window = {};
  int guesses = 7;  // that the pool keeps of each first token
  bool pool_from_prompt = false;
};

class Lookahead : public Drafter {
 public:
  // At most kMostCandidates guesses.
  Lookahead(int vocab_size, const LookaheadOptions& options);

  std::unique_ptr<DraftSession> NewSession() const override;
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override;

 private:
  int vocab_size_;
  LookaheadOptions options_;
};

DrafterRow LookaheadRow();

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TARGET_LOOKAHEAD_LOOKAHEAD_H_
