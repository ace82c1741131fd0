// Hybrid: each round, of several drafters the one that promises most.
//
// Claim. What can be copied is best copied, and what cannot is better drafted
// by a model; which it is, the text so far says (SuffixDecoding's hybrid,
// Oliaro et al., arXiv:2411.04975).
//
// Rule. A drafter promises so many accepted tokens: by its own judgement of the
// committed text (Drafter::Promise), else always `start`; never more than the
// levels it drafts. What it promises is worth what its promises were worth:
//
//   value = promise (accepted + start) / (promised + start),
//
// the sums over the rounds in which it was chosen. So a drafter that always
// promises the same is worth its mean of accepted tokens, beside one round of
// `start` tokens for a beginning. The largest value is chosen, the first on a
// tie. Before a round is added both sums of all drafters fade by 1 - 1 /
// memory: who has not been chosen for long is again taken at its word, and
// tried.
//
// Why the law is kept. The choice is made when a round is committed, from what
// was committed before: sums and text. It is the same whatever is drawn in the
// round it is for (docs/losslessness.md).
//
// Where the tree's law is not deterministic, one that only ranks proposes its
// best candidate for certain. All drafters follow the text, chosen or not. One
// that has reached the end of what it holds is not chosen.
//
// SuffixDecoding compares its score with the fixed length of the other draft;
// here both are corrected by what came of them. Costs are not compared: with
// drafters of unlike cost, limit the `depth` of the dear one.
#ifndef BANYAN_DRAFTERS_COMPOSED_HYBRID_HYBRID_H_
#define BANYAN_DRAFTERS_COMPOSED_HYBRID_HYBRID_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "drafters/composed/drafter_of_drafters.h"
#include "drafters/composed/inner_drafters.h"
#include "drafters/drafter.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

namespace banyan {

struct HybridOptions {
  std::vector<int> depths;  // levels each drafts at most; 0: no limit
  double memory = 32;       // rounds
  double start = 4;         // tokens
};

class Hybrid : public DrafterOfDrafters {
 public:
  // Keys: `drafters`, a list of `drafter` and `depth`; `memory`, `start`.
  static absl::StatusOr<std::unique_ptr<Drafter>> Build(ParamsReader& in,
                                                        Workbench& bench);

  // A depth for each part.
  Hybrid(InnerDrafters parts, HybridOptions options);

  std::unique_ptr<Drafter> Clone() const override {
    return std::make_unique<Hybrid>(parts().Clone(), options_);
  }
  std::vector<DraftLaw> laws() const override {
    return parts().LawsGivenOrMade();
  }
  absl::Status Begin(const Context& context) override;
  absl::StatusOr<std::vector<std::vector<Distribution>>> ProposeAll(
      absl::Span<const DraftRequest> requests) override;
  DoneRows Computed(const DraftTree& tree) const override {
    return parts()[chosen_].drafter().Computed(tree);
  }
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;

 private:
  // Of the rounds in which a part was chosen, faded.
  struct Sums {
    double accepted = 0;
    double promised = 0;
  };

  double PromiseOf(int part, const Context& context) const;
  void Choose(const Context& context);

  HybridOptions options_;
  std::vector<Sums> sums_;  // by part
  int chosen_ = 0;          // for the next round
  double promised_ = 0;     // by it
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_COMPOSED_HYBRID_HYBRID_H_
