// TransformerPass: one pass of the graph over the rows of several sessions.
// What it computes is every family's decoder; what they differ in stands in
// Architecture.
#ifndef BANYAN_CORE_TRANSFORMER_PASS_H_
#define BANYAN_CORE_TRANSFORMER_PASS_H_

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/model/model.h"
#include "core/ops/tensor.h"
#include "core/transformer/session.h"
#include "core/transformer/transformer.h"
#include "core/transformer/workspace.h"

namespace banyan {

// A request with its session; all parts of a pass run the same layers.
struct PassPart {
  const ScoreRequest* request;
  TransformerSession* session;
  int first_row = 0;  // in the pass; set by it
  Ints visible = {};
  int visible_words = 0;
};

class TransformerPass {
 public:
  TransformerPass(const Transformer& model, std::vector<PassPart> parts);

  // Stores the rows' keys and values in the sessions' caches, beyond what they
  // count as pending, and gives the scores in the order of the parts.
  absl::StatusOr<std::vector<std::unique_ptr<Scores>>> Run();

 private:
  class PassScores;

  absl::Status Begin();
  absl::Status RunLayer(std::size_t place);
  absl::Status Attend(std::size_t place, const Tensor& projected,
                      const Tensor& attended);
  absl::Status FeedForward(const TransformerLayer& layer);
  absl::Status Norm(const Tensor& x, const RowVector& weight,
                    const RowVector& bias, const Tensor& y) const;
  // Keeps the hidden states after so many layers, if some part wants them.
  absl::Status Tap(int place);
  absl::Status Head();
  std::unique_ptr<Scores> ScoresOf(const PassPart& part) const;

  const Transformer& model_;
  const Architecture& architecture_;
  Backend& backend_;
  std::vector<PassPart> parts_;
  int rows_ = 0;
  std::shared_ptr<Workspace> workspace_;
  Tensor stream_, normed_, angles_, logits_;
  std::map<int, Tensor> taps_;  // by place, of all rows
};

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_PASS_H_
