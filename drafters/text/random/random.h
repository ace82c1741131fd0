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
#include "core/prob/distribution.h"
#include "drafters/drafter.h"
#include "drafters/row.h"

namespace banyan {

class Random : public Drafter {
 public:
  explicit Random(int vocab_size);

  std::unique_ptr<DraftSession> NewSession() const override {
    return std::make_unique<BlankSession>();
  }
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override;

 private:
  Distribution uniform_;
};

DrafterRow RandomRow();

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_RANDOM_RANDOM_H_
