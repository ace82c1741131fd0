// What the target predicts at the nodes of a tree: scores, distributions and
// facts for records.
#ifndef BANYAN_DECODE_TARGET_ROWS_H_
#define BANYAN_DECODE_TARGET_ROWS_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

namespace banyan {

// TargetRows: the target distributions at the nodes of a tree, each made from
// its logits when first read, where the logits are.
class TargetRows : public RowSource {
 public:
  // Row i of `scores` belongs to node i. All arguments outlive the rows.
  TargetRows(const Scores& scores, const SamplingRule& rule,
             const Context& context, const DraftTree& tree);

  // After a failure gives uniform rows, so that a verifier can run to its end;
  // its verdict must then be thrown away.
  const Distribution& Row(int node) override;

  // Returns the same distribution, for a reader of every node. One that no
  // verifier has read is made anew and is not kept.
  Distribution Glance(int node);

  // The first failure of reading or of the sampling rule, or OK.
  const absl::Status& status() const { return status_; }

 private:
  Distribution Make(int node);

  const Scores& scores_;
  const SamplingRule& rule_;
  const Context& context_;
  const DraftTree& tree_;
  std::vector<std::optional<Distribution>> rows_;
  absl::Status status_;
};

// Scores by node, of a pass that has several rows of one node.

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

// TargetFacts: what the target predicted at a round's tree, for records and
// pictures. Decoding does not need it.
struct TargetFacts {
  // By node: the probability of its token after its parent, as the sampling
  // rule makes it; 1 for the root.
  std::vector<double> probability;
  // By node, then by draw list: sum over x of min(p(x), q(x)), with q the
  // distribution that the first draw is judged by: the acceptance rate of that
  // draw alone. 0 if nothing was drawn.
  std::vector<std::vector<double>> overlap;
  // By token of the verdict (its path, then the next one): the log-probability
  // at temperature 1 without truncation, and how far the largest logit lies
  // above the second (0 with one token to choose from).
  std::vector<double> log_probability;
  std::vector<double> logit_gap;
};

// Row i of `scores` and of `rows` belongs to node i. Probes have nothing. Holds
// one row at a time beside those that `rows` keeps, and has it keep no more:
// the memory of a recorded round is that of the method. Fails if a row cannot
// be read.
absl::StatusOr<TargetFacts> GatherFacts(const Scores& scores,
                                        const DraftTree& tree,
                                        const Verdict& verdict,
                                        TargetRows& rows);

}  // namespace banyan

#endif  // BANYAN_DECODE_TARGET_ROWS_H_
