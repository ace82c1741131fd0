// TransformerPass runs one pass of the graph over the rows of several
// sequences. The graph is the decoder of every family; Architecture states how
// the families differ.
#ifndef BANYAN_CORE_TRANSFORMER_PASS_H_
#define BANYAN_CORE_TRANSFORMER_PASS_H_

#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/checkpoint/architecture.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/device_ops.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "core/transformer/model_split.h"
#include "core/transformer/network.h"
#include "core/transformer/pass_input.h"
#include "core/transformer/weights.h"

namespace banyan {

// PassScores: one part's rows of a pass, which stay where it computed them.

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

// Runs the layers of an input in place, with ops only. The results stay in the
// input's workspace.
class TransformerPass {
 public:
  TransformerPass(const Network& network, PassInput input);

  // Runs the layers, then the output head. Stores the rows' keys and values in
  // the sequences' caches, beyond what they count as pending.
  absl::Status Run();
  // The layers alone.
  absl::Status RunLayers();

  const PassInput& input() const { return input_; }
  // By part its rows' logits, from its `logits_from` on.
  std::vector<Tensor> LogitsByPart() const;
  // The states of a part's rows at one of the parts' taps.
  Tensor States(const PassPart& part, int tap) const {
    return taps_.at(tap).Rows(part.first_row, part.rows);
  }
  std::unique_ptr<Scores> ScoresOf(const PassPart& part) const;

 private:
  absl::Status Keep();
  absl::Status RunBlocks(std::size_t place);
  absl::Status RunAttention(std::size_t place);
  absl::Status Project(std::size_t place, const Tensor& projected,
                       const RotateStoreArgs& then);
  // Adds to the stream what the layer's heads read.
  absl::Status Attend(std::size_t place, const Tensor& projected,
                      const Tensor& attended);
  absl::Status FeedForward(const TransformerLayer& layer);
  // Adds a product to the stream, whose columns the ranks share out as
  // `hidden`; its x, which `source` makes, they share out as `parts`.
  absl::Status AddToStream(LinearArgs product, const Partition& parts);
  // The stream brought to a standard size, in normed_.
  NormArgs Normed(const RowVector& weight, const RowVector& bias) const;
  // Keeps the hidden states after `place` layers, if some part wants them.
  absl::Status Tap(int place);
  absl::Status Head();

  const Network& network_;
  const Architecture& architecture_;
  Backend& backend_;
  ModelSplit& split_;
  PassInput input_;
  Tensor normed_, logits_, squares_;
  bool squares_fresh_ = false;  // squares_ is of the stream as it is
  std::map<int, Tensor> taps_;  // by place, of all rows
};

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_PASS_H_
