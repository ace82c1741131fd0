// A model that remembers: rows by the text they follow.
#ifndef BANYAN_TESTS_SUPPORT_ROW_CACHE_H_
#define BANYAN_TESTS_SUPPORT_ROW_CACHE_H_

#include <map>
#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/model.h"

namespace banyan {

// Wraps a model with hidden states and returns the model's results. The model
// runs once for every text that is read, with vectors in place of its last
// tokens or without. Views are the model's own. For decoding one prompt
// repeatedly, in one thread.
class RowCache : public Model {
 public:
  explicit RowCache(const Model& model) : Model(model.shape()), model_(model) {}

  std::unique_ptr<Session> NewSession() const override;
  absl::StatusOr<std::vector<std::unique_ptr<Scores>>> Score(
      absl::Span<const ScoreRequest> requests) const override;

  struct Row {
    std::vector<double> logits;
    std::map<int, std::vector<float>> states;  // by tap
  };
  // A negative token stands for a vector; nothing else follows one. Ends the
  // program if the model fails.
  const Row& After(const std::vector<TokenId>& text) const;

 private:
  // The batch, each of its vectors with a token of its own.
  TokenBatch Named(const ScoreRequest& request) const;

  const Model& model_;
  mutable std::vector<std::vector<float>> vectors_;  // of -1, -2, ...
  mutable std::map<std::vector<TokenId>, Row> rows_;
};

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_ROW_CACHE_H_
