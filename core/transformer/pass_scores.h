// PassScores: one part's rows of a pass, which stay where it computed them.
#ifndef BANYAN_CORE_TRANSFORMER_PASS_SCORES_H_
#define BANYAN_CORE_TRANSFORMER_PASS_SCORES_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/ops/read_row.h"
#include "core/ops/tensor.h"
#include "core/prob/distribution.h"
#include "core/prob/logits.h"
#include "core/prob/sampling_rule.h"
#include "core/transformer/network.h"
#include "core/transformer/workspace.h"

namespace banyan {

// Shares the workspace, and so keeps logits and hidden states, until the last
// part's scores are gone.
class PassScores : public Scores {
 public:
  PassScores(const Network& network, std::shared_ptr<Workspace> workspace,
             Tensor logits, int logits_from, std::vector<Tensor> taps)
      : network_(network),
        workspace_(std::move(workspace)),
        logits_(logits),
        logits_from_(logits_from),
        taps_(std::move(taps)) {}

  int vocab_size() const override {
    return network_.outputs().all() ? network_.logits() : network_.vocab_size();
  }
  absl::Status Read(int row, std::vector<double>& logits) const override;
  absl::StatusOr<Distribution> Law(
      int row, const SamplingRule& rule, absl::Span<const TokenId> history,
      absl::Span<const TokenId> path) const override;
  absl::StatusOr<std::vector<TokenLogit>> Best(int row, int k) const override;
  absl::Status ReadHidden(int tap, int row,
                          absl::Span<float> out) const override;

 private:
  LogitRow Logits(int row) const;
  // Reads the logits of the network's output tokens, in their order.
  absl::Status ReadSome(int row, std::vector<double>& logits) const;

  const Network& network_;
  std::shared_ptr<Workspace> workspace_;
  Tensor logits_;
  int logits_from_;
  std::vector<Tensor> taps_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_PASS_SCORES_H_
