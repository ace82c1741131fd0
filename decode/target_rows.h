// TargetRows: the target distributions at the nodes of a tree, each made from
// its logits when first read, where the logits are.
#ifndef BANYAN_DECODE_TARGET_ROWS_H_
#define BANYAN_DECODE_TARGET_ROWS_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/row_source.h"
#include "core/prob/sampling_rule.h"
#include "tree/draft_tree.h"

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_DECODE_TARGET_ROWS_H_
