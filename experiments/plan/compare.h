// What an experiment's `compare` says.
#ifndef BANYAN_EXPERIMENTS_PLAN_COMPARE_H_
#define BANYAN_EXPERIMENTS_PLAN_COMPARE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "experiments/plan/costs.h"

namespace banyan {

struct CompareSpec {
  // A method; empty: of the chains given or predicted, the fastest that some
  // rival's drafter can make; without chains the baseline.
  std::string reference;
  Origin reference_place;
  std::vector<std::string> rivals;  // empty: all methods but the reference
  std::vector<ChainLength> chains;
  bool measured = false;   // `chains: measured`: lengths are predicted
  bool neighbours = true;  // those of predicted lengths run too
  bool same_size = true;   // so do chains of as many nodes as a tree has
};

// `methods` are the experiment's. Fails on names it does not have.
absl::StatusOr<CompareSpec> ReadCompare(const Params& section,
                                        const Params& methods);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_COMPARE_H_
