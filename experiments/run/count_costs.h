// Counts in records, as tables of costs for later experiments, how often tokens
// of drafters were accepted, and finds the length at which each drafter's chain
// was fastest.
#ifndef BANYAN_EXPERIMENTS_RUN_COUNT_COSTS_H_
#define BANYAN_EXPERIMENTS_RUN_COUNT_COSTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/plan/costs.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"

namespace banyan {

// Counts accepted tokens: a table for each setting and each list of drafters
// that draft together.
class AcceptanceCounter {
 public:
  // Counts the rounds of a record of this cell, unless it is lossy or drafts
  // nothing. Fails if another cell has a drafter of the same name with other
  // options or models.
  absl::Status Add(const records::Cell& cell,
                   const records::PromptRecord& record);

  // The tables of drafters that proposed something.
  std::vector<AcceptanceTable> Tables() const;

 private:
  struct Counted {
    AcceptanceTable table;
    std::vector<std::string> identities;  // of its drafters
    std::string cell;                     // that was counted first
  };

  std::vector<Counted> tables_;
};

// Counts how often the candidates of heads were right: records of a cell whose
// tree draws several tokens at every node along its first path (HeadsSection).
HeadTable CountHeads(const records::Cell& cell,
                     const std::vector<records::PromptRecord>& records);

// Returns the acceptance of all lossless cells, and for each target, drafter
// and temperature the fastest chain, of cells of one length the faster one.
// There are no chains in records of several machines. Fails if there is
// nothing to count.
absl::StatusOr<Costs> CountCosts(const RecordSet& set);

// Where numbers come from that were counted in records: their machine, build
// and date, and the prompts and experiments.
Provenance ProvenanceOf(const RecordSet& set);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_COUNT_COSTS_H_
