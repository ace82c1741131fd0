// Hybrid: each round, of several drafters the one that promises most.
//
// Claim. What can be copied is best copied, and what cannot is better drafted
// by a model; which it is, the text so far says (SuffixDecoding's hybrid,
// Oliaro et al., arXiv:2411.04975).
//
// Rule. A drafter promises a number of accepted tokens: by its own judgement of
// the committed text (DraftSession::Promise), else always `start`; never more
// than the levels it drafts. What it promises is worth what its promises were
// worth:
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
// A drafter that has reached the end of what it holds is not chosen. The rest
// is as in composed_drafter.h.
//
// SuffixDecoding compares its score with the fixed length of the other draft;
// here both are corrected by what came of them. Costs are not compared: with
// drafters of unlike cost, limit the `depth` of the dear one.
#ifndef BANYAN_DRAFTERS_COMPOSED_HYBRID_HYBRID_H_
#define BANYAN_DRAFTERS_COMPOSED_HYBRID_HYBRID_H_

#include <memory>
#include <vector>

#include "core/model/model.h"
#include "drafters/composed/composed_drafter.h"
#include "drafters/composed/inner_drafters.h"
#include "drafters/drafter.h"

namespace banyan {

struct HybridOptions {
  std::vector<int> depths;  // levels each drafts at most; 0: no limit
  double memory = 32;       // rounds
  double start = 4;         // tokens
};

class Hybrid : public ChoosingDrafter {
 public:
  // A depth for each part.
  Hybrid(InnerDrafters parts, const HybridOptions& options);

  std::unique_ptr<DraftSession> NewSession() const override;

 private:
  HybridOptions options_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_COMPOSED_HYBRID_HYBRID_H_
