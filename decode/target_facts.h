// TargetFacts: what the target predicted at a round's tree, for records and
// pictures. Decoding does not need it.
#ifndef BANYAN_DECODE_TARGET_FACTS_H_
#define BANYAN_DECODE_TARGET_FACTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "core/model/model.h"
#include "decode/target_rows.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

namespace banyan {

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

#endif  // BANYAN_DECODE_TARGET_FACTS_H_
