// A drafter that says what another one says, and counts how it is asked.
#ifndef BANYAN_TESTS_DRAFTERS_COUNTED_H_
#define BANYAN_TESTS_DRAFTERS_COUNTED_H_

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

// Of a drafter and all its clones.
struct AskedSoFar {
  int passes = 0;
  int nodes = 0;
  int longest = 0;  // text behind which it was asked
};

// `ahead`: whether it may be asked ahead, if the other one may.
class Counted : public Drafter {
 public:
  Counted(std::unique_ptr<Drafter> inner, std::shared_ptr<AskedSoFar> asked,
          bool ahead = true)
      : inner_(std::move(inner)), asked_(std::move(asked)), ahead_(ahead) {}

  std::unique_ptr<Drafter> Clone() const override {
    return std::make_unique<Counted>(inner_->Clone(), asked_, ahead_);
  }
  std::vector<DraftLaw> laws() const override { return inner_->laws(); }
  std::vector<int> taps() const override { return inner_->taps(); }
  int longest_text() const override { return inner_->longest_text(); }
  bool proposes_ahead() const override {
    return ahead_ && inner_->proposes_ahead();
  }
  absl::Status Begin(const Context& context) override {
    return inner_->Begin(context);
  }
  std::optional<double> Promise(const Context& context) const override {
    return inner_->Promise(context);
  }
  absl::StatusOr<std::vector<Distribution>> Propose(
      const Context& context, const TrunkTree& tree,
      absl::Span<const int> nodes) override {
    return ProposeAlone(context, tree, nodes);
  }
  absl::StatusOr<std::vector<std::vector<Distribution>>> ProposeAll(
      absl::Span<const DraftRequest> requests) override {
    ++asked_->passes;
    std::vector<DraftRequest> inner(requests.begin(), requests.end());
    for (DraftRequest& request : inner) {
      request.drafter = static_cast<Counted&>(*request.drafter).inner_.get();
      asked_->nodes += static_cast<int>(request.nodes.size());
      for (int node : request.nodes)
        asked_->longest = std::max(
            asked_->longest, static_cast<int>(request.context->tokens.size()) +
                                 request.tree->node(node).depth);
    }
    return inner.front().drafter->ProposeAll(inner);
  }
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override {
    return inner_->Observe(context, outcome);
  }

 private:
  std::unique_ptr<Drafter> inner_;
  std::shared_ptr<AskedSoFar> asked_;
  bool ahead_;
};

}  // namespace banyan

#endif  // BANYAN_TESTS_DRAFTERS_COUNTED_H_
