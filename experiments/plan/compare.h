// What an experiment's `compare` says.
#ifndef BANYAN_EXPERIMENTS_PLAN_COMPARE_H_
#define BANYAN_EXPERIMENTS_PLAN_COMPARE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/params.h"

namespace banyan {

// How fast a drafter's chain is at its best length.
struct ChainLength {
  std::string target;  // its directory's name
  // The name of its model's or heads' directory, or its own without one or with
  // drafters of its own.
  std::string drafter;
  double temperature = 1;
  int length = 0;
  double speed = 0;  // speedup over plain decoding
};

struct CompareSpec {
  // A method; empty: of the chains given or predicted, the fastest that some
  // rival's drafter can make; without chains the baseline.
  std::string reference;
  Origin reference_place;
  std::vector<std::string> rivals;  // empty: all methods but the reference
  std::vector<ChainLength> chains;
  bool measured = false;   // `chains: measured`: lengths are predicted
  bool neighbours = true;  // those of predicted lengths run too
};

// `methods` are the experiment's. Fails on names it does not have.
absl::StatusOr<CompareSpec> ReadCompare(const Params& section,
                                        const Params& methods);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_COMPARE_H_
