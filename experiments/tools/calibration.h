// Calibration: measures how often a drafter's draws are accepted, by rank.
//
// The method's drafter draws `ranks` tokens at the root and none below, with
// the draw kind and the verifier of the method. The share of rounds that accept
// the b-th draw is p_b of tree/optimize/sequoia.h. The contexts are the
// target's own output, which every lossless method gives.
//
// Heads (DrafterTraits::depth_heads) do not depend on the path. A second run
// counts, on the same output, the share of positions whose token is head i's
// r-th candidate; the policy `static` grows its tree by these shares.
//
// With `timed`, a third run drafts chains. It takes the median, over rounds, of
// the cost of a drafted level beside the target's pass: drafting, and its share
// of deriving, verifying and committing. A pass of the drafter alone, as
// `banyan measure` times it, costs less.
#ifndef BANYAN_EXPERIMENTS_TOOLS_CALIBRATION_H_
#define BANYAN_EXPERIMENTS_TOOLS_CALIBRATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "decode/sequence.h"
#include "experiments/models/method_file.h"
#include "experiments/plan/method_spec.h"

namespace banyan {

// Of `trials`, how many had each outcome.
struct Shares {
  std::int64_t trials = 0;
  std::vector<std::int64_t> hits;
};

struct Calibration {
  std::string drafter;
  std::string verifier;
  std::string law;
  double temperature = 1;
  std::int64_t tokens = 0;
  Shares acceptance;          // by rank
  std::vector<Shares> heads;  // by head; none for drafters without
  double draft_ms = 0;        // of a level; 0: not timed
};

struct CalibrationTask {
  MethodSpec method;  // of one drafter; its policy's draw kind counts
  MethodContext context;
  std::vector<Prompt> prompts;
  StopRule stop;
  int ranks = 8;
  std::uint64_t seed = 0;
  bool timed = false;
};

// `progress` is called after every prompt.
absl::StatusOr<Calibration> Calibrate(
    const CalibrationTask& task,
    absl::FunctionRef<void(int done, int all)> progress);

// As YAML: `acceptance` and, for heads, `accuracies`, which policies read as
// their `calibration`; beside them the counts and 95 % intervals (Wilson).
// `about` stands in a comment at its head.
std::string ToYaml(const Calibration& calibration, const std::string& about);

// The ends of the interval of a share.
struct ShareInterval {
  double low = 0;
  double high = 1;
};
ShareInterval WilsonInterval(std::int64_t hits, std::int64_t trials);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_TOOLS_CALIBRATION_H_
