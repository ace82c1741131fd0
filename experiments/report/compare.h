// Two runs of the same cells held against each other.
#ifndef BANYAN_EXPERIMENTS_REPORT_COMPARE_H_
#define BANYAN_EXPERIMENTS_REPORT_COMPARE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/json/json_value.h"
#include "experiments/metrics/bootstrap.h"
#include "experiments/records/record_set.h"
#include "experiments/report/table.h"

namespace banyan {

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
  // None if one of them has none: a cell without tokens.
  std::optional<ComparedNumber> ms_per_token;
  std::optional<ComparedNumber> tokens_per_pass;
  // What the interval of the time says of b: "faster", "slower", "no difference
  // seen" (it holds 0), or "too few prompts" (there is none).
  std::string verdict;
};

struct Comparison {
  std::vector<ComparedCell> cells;
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
