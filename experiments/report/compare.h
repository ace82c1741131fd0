// Two runs of the same cells held against each other.
//
// Claim: a machine that is slower in one run slows a method and its plain
// baseline alike, for both decode a prompt within moments of each other. So
// runs are compared by speedup over plain decoding of the same run on the same
// prompts.
//
// Covered: other programs' load, clock rates, another machine as far as it
// changes all passes by one factor. In part what slows plain decoding and
// methods unequally: intervals of speedups are widened by a tenth of the
// baseline's own drift, so that where plain decoding took twice the time a
// speedup must differ by some 7 % more (docs/decisions.md).
//
// Not covered: a change of what plain decoding and methods share, which is in
// the drift of the baseline that is told beside the verdicts.
#ifndef BANYAN_EXPERIMENTS_REPORT_COMPARE_H_
#define BANYAN_EXPERIMENTS_REPORT_COMPARE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/json/json_value.h"
#include "experiments/metrics/estimate.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "experiments/report/table.h"

namespace banyan {

// What two runs do not have in common.

// "compiler: X | Y" for every fact of build, machine and experiment that
// differs. Measured bandwidth counts as different from a tenth on.
std::vector<std::string> ContextDifferences(const records::Context& a,
                                            const records::Context& b);

// The same for the settings of two cells, each led by the name of the first.
std::vector<std::string> CellDifferences(const records::Cell& a,
                                         const records::Cell& b);

struct CompareOptions {
  std::string cell;  // empty: all that both have
  // Workloads, chat templates, devices and instruction sets may differ.
  bool mixed = false;
};

// One number in both, over the prompts that both have.
struct ComparedNumber {
  double a = 0;
  double b = 0;
  Estimate difference;  // b less a
};

struct ComparedCell {
  std::string name;
  int prompts = 0;  // that both have
  // None if one of them has none: a cell without tokens; `speed` also where no
  // prompt has a baseline in both, and for the baseline itself.
  std::optional<ComparedNumber> speed;  // over plain decoding
  std::optional<ComparedNumber> ms_per_token;
  std::optional<ComparedNumber> tokens_per_pass;
  // What the interval of the speed's difference says of b: "faster", "slower",
  // or "undecided" (it holds 0, or there are fewer than six prompts); of a
  // baseline "baseline". Without a baseline "machine or method": the two cannot
  // be told apart.
  std::string verdict;
};

// How a baseline's own time changed.
struct BaselineDrift {
  std::string name;
  Estimate slower;  // its time per token in b over that in a
};

struct Comparison {
  std::vector<ComparedCell> cells;
  std::vector<BaselineDrift> drifts;  // of the baselines of the cells
  // "compiler: X | Y" for what else differs in context and cells.
  std::vector<std::string> differences;
};

// Fails if they have no cell in common; and, unless told that they are mixed,
// if workloads, chat templates, devices or instruction sets differ, naming
// both.
absl::StatusOr<Comparison> Compare(const RecordSet& a, const RecordSet& b,
                                   const CompareOptions& options);

Table ToTable(const Comparison& comparison);
JsonValue ToJson(const Comparison& comparison);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_COMPARE_H_
