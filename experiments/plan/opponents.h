// What an experiment compares, and the opponents that it owes its trees.
//
// `compare` in an experiment's file names a reference and rivals. With
// `chains`, the lengths at which each drafter's chain was fastest on other
// prompts (`banyan fastest` writes them), every rival that is no chain itself
// stands beside chains of its own drafters, one trunk's each: of as many nodes
// as it drafts, and of that length. Without them a tree over a good drafter
// would be compared with a chain of a worse one. They are cells like any other;
// equal ones are one.
#ifndef BANYAN_EXPERIMENTS_PLAN_OPPONENTS_H_
#define BANYAN_EXPERIMENTS_PLAN_OPPONENTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "experiments/plan/experiment.h"

namespace banyan {

// How fast a drafter's chain was at its best length.
struct ChainLength {
  std::string target;  // its directory's name
  // The name of its model's or heads' directory, or its own without one or with
  // drafters of its own.
  std::string drafter;
  double temperature = 1;
  int length = 0;
  double speed = 0;  // times plain decoding
};

struct CompareSpec {
  // A method; empty: of the chains given, the fastest that some rival's drafter
  // can make; without chains the baseline.
  std::string reference;
  std::vector<std::string> rivals;  // empty: all methods but the reference
  std::vector<ChainLength> chains;
};

// `methods` are the experiment's. Fails on names it does not have.
absl::StatusOr<CompareSpec> ReadCompare(const Params& section,
                                        const Params& methods);

// The last part of a path to a directory.
std::string FolderName(const std::string& path);
// What a drafter of this title (DrafterTitle) is called that reads the model of
// this folder: as the folder; one made of drafters by its own name.
std::string DrafterLabel(const std::string& title, const std::string& folder);

// Adds the cells of opponents, and each rival's opponents. What `chains` do not
// know is a note of the experiment. Fails as a policy's section does.
absl::Status AddOpponents(const CompareSpec& compare, Experiment& experiment);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_OPPONENTS_H_
