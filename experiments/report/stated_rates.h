// Acceptance rates from elsewhere, at the costs of a file: what a chain of
// draft tokens would gain whose acceptance is forced.
//
//   rates:
//     eagle3: {synthetic_acceptance_rates: [0.71, 0.52, 0.4], drafter: eagle}
//
// The entries are those of vLLM's speculative configuration. Entry i of the
// rates is the probability that the first i + 1 draft tokens are all accepted.
//
// Claim. A chain of n draft tokens yields 1 + sum of rates tokens per pass on
// average, and its round takes pass(n + 1) + n level. The speedup over plain
// decoding, a token per pass(1), follows.
#ifndef BANYAN_EXPERIMENTS_REPORT_STATED_RATES_H_
#define BANYAN_EXPERIMENTS_REPORT_STATED_RATES_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "experiments/records/record_set.h"
#include "experiments/report/table.h"

namespace banyan {

struct StatedCosts;

struct StatedRates {
  std::string name;
  Params params;                 // all that it says
  std::vector<double> accepted;  // entry i: at least i + 1 tokens
  std::string drafter;           // whose level counts; empty: not said
};

// The value of the key `rates`. Fails, with file, line and column, on an empty
// list and on rates that are no probabilities or rise.
absl::StatusOr<std::vector<StatedRates>> ReadStatedRates(const Params& value);

// A row for each of the rates: draft tokens, tokens per pass, predicted
// speedup. Fails if the curve does not cover a chain, or a drafter has no cost.
absl::StatusOr<Table> RatesTable(const StatedCosts& costs);

// Writes the rates of every cell that drafts, by name, as JSON: what `rates`
// and vLLM's --speculative-config take. Rate i is the share of the rounds with
// draft tokens that accepted i or more. Of a tree, the rates are those of its
// depths.
absl::Status ExportAcceptance(const RecordSet& set, std::ostream& out);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_STATED_RATES_H_
