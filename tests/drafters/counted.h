// A drafter that says what another one says, and counts how it is asked.
#ifndef BANYAN_TESTS_DRAFTERS_COUNTED_H_
#define BANYAN_TESTS_DRAFTERS_COUNTED_H_

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "drafters/drafter.h"
#include "tests/support/decorated.h"

namespace banyan {

// Of a drafter and all its sessions.
struct AskedSoFar {
  int passes = 0;
  int nodes = 0;
  int longest = 0;  // text after which it was asked
};

// `ahead`: whether it may be asked ahead, if the other one may.
class AskCounter : public Decorated {
 public:
  AskCounter(std::unique_ptr<Drafter> inner, std::shared_ptr<AskedSoFar> asked,
             bool ahead = true)
      : Decorated(TraitsOf(*inner, ahead), std::move(inner)),
        asked_(std::move(asked)) {}

  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override {
    ++asked_->passes;
    for (const DraftRequest& request : requests) {
      asked_->nodes += static_cast<int>(request.nodes.size());
      for (int node : request.nodes)
        asked_->longest = std::max(
            asked_->longest, static_cast<int>(request.context->tokens.size()) +
                                 request.tree->node(node).depth);
    }
    return Decorated::Propose(requests);
  }

 private:
  static DrafterTraits TraitsOf(const Drafter& inner, bool ahead) {
    DrafterTraits traits = inner.traits();
    traits.proposes_ahead = traits.proposes_ahead && ahead;
    return traits;
  }

  std::shared_ptr<AskedSoFar> asked_;
};

}  // namespace banyan

#endif  // BANYAN_TESTS_DRAFTERS_COUNTED_H_
