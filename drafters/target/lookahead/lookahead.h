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
// Cases. A gram is a guess and no law: the draws are deterministic, and the
// text follows the target's law whatever the pool holds, at any sampling rule.
// The window itself iterates on the target's best tokens, as published, so at a
// temperature it guesses the likeliest text. Where the context has no room for
// the window none is planted, and the pool stays as it is. Not covered: a pool
// kept from prompt to prompt, and a window spread over several devices.
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
#include "core/base/params.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"
#include "drafters/target/lookahead/gram_pool.h"
#include "drafters/target/lookahead/window.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

struct LookaheadOptions {
  WindowSize window = {};
  int guesses = 7;  // that the pool keeps of each first token
  bool pool_from_prompt = false;
};

class Lookahead : public Drafter {
 public:
  // Keys: `level`, `window`, `guesses`, `pool_from_prompt`.
  static absl::StatusOr<std::unique_ptr<Drafter>> Build(ParamsReader& in,
                                                        Workbench& bench);

  // At most kMostCandidates guesses.
  Lookahead(int vocab_size, const LookaheadOptions& options);

  std::unique_ptr<Drafter> Clone() const override {
    return std::make_unique<Lookahead>(*this);
  }
  std::vector<DraftLaw> laws() const override;
  bool proposes_ahead() const override { return true; }
  absl::Status Begin(const Context& context) override;
  absl::StatusOr<std::vector<Distribution>> Propose(
      const Context& context, const TrunkTree& tree,
      absl::Span<const int> nodes) override;
  void Plant(const Context& context, int max_depth, TrunkTree& tree) override;
  int probes() const override { return options_.window.MostRows(); }
  bool reads_rows() const override { return true; }
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;

 private:
  bool InVocabulary(TokenId token) const {
    return token >= 0 && token < vocab_size_;
  }

  int vocab_size_;
  LookaheadOptions options_;
  JacobiWindow window_;
  GramPool pool_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TARGET_LOOKAHEAD_LOOKAHEAD_H_
