// Scores by node, of a pass that has several rows of one node.
#ifndef BANYAN_DECODE_NODE_SCORES_H_
#define BANYAN_DECODE_NODE_SCORES_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/logits.h"
#include "core/prob/sampling_rule.h"

namespace banyan {

// Row i is row row[i] of what was computed.
class NodeScores : public Scores {
 public:
  NodeScores(std::unique_ptr<Scores> scores, std::vector<int> row)
      : scores_(std::move(scores)), row_(std::move(row)) {}

  int vocab_size() const override { return scores_->vocab_size(); }
  absl::Status Read(int node, std::vector<double>& logits) const override {
    return scores_->Read(RowOf(node), logits);
  }
  absl::StatusOr<Distribution> Law(
      int node, const SamplingRule& rule, absl::Span<const TokenId> history,
      absl::Span<const TokenId> path) const override {
    return scores_->Law(RowOf(node), rule, history, path);
  }
  absl::StatusOr<std::vector<TokenLogit>> Best(int node, int k) const override {
    return scores_->Best(RowOf(node), k);
  }
  absl::Status ReadHidden(int tap, int node,
                          absl::Span<float> out) const override {
    return scores_->ReadHidden(tap, RowOf(node), out);
  }

 private:
  int RowOf(int node) const { return row_[static_cast<std::size_t>(node)]; }

  std::unique_ptr<Scores> scores_;
  std::vector<int> row_;
};

}  // namespace banyan

#endif  // BANYAN_DECODE_NODE_SCORES_H_
