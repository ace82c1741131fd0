// Search: finds the part of the target that drafts best for the whole target.
//
// The method's one drafter is early_exit or skip; the rest of the method stays
// as in its file. A candidate is an exit, or a set of skipped blocks. It is
// rated by decoding the prompts with it: its speed is
//
//   tokens per round x median time of a plain token / median time of a round,
//
// acceptance and time both measured, on this machine and this model.
//
// The walk begins at a random candidate and moves to the first neighbour that
// is faster, in a random order: for an exit any other exit, the nearest ones
// first; for a set any with one block more or less. Where no neighbour is
// faster it begins again elsewhere, until SearchTask::steps candidates are
// rated. Randomness comes from the seed, so equal ratings give the same walk:
// the ratings of an earlier run are reused, and the search continues after
// them.
//
// Draft & Verify (Zhang et al., arXiv:2309.08168) differs: it searches the
// blocks to skip by Bayesian optimisation, which rates sets far apart and
// models the speed between them. A walk needs no model of the speed, can be
// read from its file of ratings, and ends in a set that no single block
// improves.
#ifndef BANYAN_EXPERIMENTS_MAKERS_SEARCH_H_
#define BANYAN_EXPERIMENTS_MAKERS_SEARCH_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "decode/sequence.h"
#include "experiments/loading/method_file.h"

namespace banyan {

// An exit, or the blocks that are skipped: attention of a layer is its number,
// feed-forward that and the number of layers. In order.
using Candidate = std::vector<int>;

struct Rating {
  bool refused = false;  // the target has no such view
  double tokens_per_round = 0;
  double draft_ms = 0;  // medians, of a round
  double round_ms = 0;
  double speed = 0;  // to decoding plainly
};

struct SearchStep {
  Candidate candidate;
  Rating rating;
  bool best = false;  // of all so far
};

struct SearchTask {
  Params method;
  MethodContext context;
  std::vector<Prompt> prompts;
  StopRule stop;
  std::uint64_t seed = 0;
  int steps = 40;  // candidates to rate at most
  // Of earlier runs of the same search, in their order.
  std::vector<SearchStep> known = {};
};

struct SearchResult {
  std::vector<SearchStep> path;  // in the order of ratings
  Params method;                 // with the best candidate
};

// The kind of a method's drafter decides what its candidates are.
class SearchSpace {
 public:
  // InvalidArgument unless the method's one drafter is early_exit or skip.
  static absl::StatusOr<SearchSpace> Of(const Params& method, int layers);

  // How many candidates there are; more than an int holds: the largest int.
  int size() const;
  Candidate Random(std::uint64_t seed, std::uint64_t start) const;
  std::vector<Candidate> Neighbours(const Candidate& of, std::uint64_t seed,
                                    std::uint64_t step) const;
  // The method with this candidate.
  absl::StatusOr<Params> Put(const Candidate& candidate,
                             const Params& method) const;
  // "exit 2", "attention 1 2; feed_forward 0".
  std::string ToText(const Candidate& candidate) const;
  absl::StatusOr<Candidate> FromText(const std::string& text) const;

 private:
  bool exits_ = false;
  int layers_ = 0;
};

// `rated` is called after each new rating, before the walk goes on; if it fails
// the search ends with its status.
absl::StatusOr<SearchResult> Search(
    const SearchTask& task, const SearchSpace& space,
    absl::FunctionRef<absl::Status(const SearchStep&)> rated);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_MAKERS_SEARCH_H_
