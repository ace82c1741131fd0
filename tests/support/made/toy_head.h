// ToyHead: a model of the test's own in the place of an EAGLE head's network.
// It does not look at the vectors that its rows start from, but sees that each
// has one.
#ifndef BANYAN_TESTS_SUPPORT_MADE_TOY_HEAD_H_
#define BANYAN_TESTS_SUPPORT_MADE_TOY_HEAD_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/model/model.h"
#include "drafters/heads/eagle/head.h"

namespace banyan {

class ToyNetwork : public Model {
 public:
  // A model with hidden states.
  explicit ToyNetwork(std::shared_ptr<const Model> of_tokens)
      : Model(of_tokens->shape()), of_tokens_(std::move(of_tokens)) {}
  std::unique_ptr<Session> NewSession() const override {
    return of_tokens_->NewSession();
  }
  absl::StatusOr<std::vector<std::unique_ptr<Scores>>> Score(
      absl::Span<const ScoreRequest> requests) const override {
    std::vector<ScoreRequest> without(requests.begin(), requests.end());
    for (ScoreRequest& request : without) {
      Check(request.vectors.size() ==
                static_cast<std::size_t>(request.batch->size() * hidden_size()),
            "a vector for each row");
      request.vectors = {};
    }
    return of_tokens_->Score(without);
  }

 private:
  std::shared_ptr<const Model> of_tokens_;
};

class ToyHead : public EagleHead {
 public:
  explicit ToyHead(std::shared_ptr<const Model> of_tokens)
      : network_(std::move(of_tokens)) {}
  const Model& network() const override { return network_; }
  std::vector<int> taps() const override { return {kAfterFinalNorm}; }
  int output_tap() const override { return kAfterFinalNorm; }

 private:
  ToyNetwork network_;
};

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_MADE_TOY_HEAD_H_
