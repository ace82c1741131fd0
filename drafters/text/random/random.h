// Drafting at random, uniformly over the vocabulary: a control. What a method
// gives with it is what its trees cost; what a drafter is worth is what it
// gives beyond that.
#ifndef BANYAN_DRAFTERS_TEXT_RANDOM_RANDOM_H_
#define BANYAN_DRAFTERS_TEXT_RANDOM_RANDOM_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

class Random : public Drafter {
 public:
  // No keys.
  static absl::StatusOr<std::unique_ptr<Drafter>> Build(ParamsReader& in,
                                                        Workbench& bench);

  explicit Random(int vocab_size);

  std::unique_ptr<Drafter> Clone() const override {
    return std::make_unique<Random>(*this);
  }
  std::vector<DraftLaw> laws() const override;
  bool proposes_ahead() const override { return true; }
  absl::Status Begin(const Context& context) override;
  absl::StatusOr<std::vector<Distribution>> Propose(
      const Context& context, const TrunkTree& tree,
      absl::Span<const int> nodes) override;
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;

 private:
  Distribution uniform_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_RANDOM_RANDOM_H_
