// Whether what was recorded would win elsewhere: scores at the costs that ship
// with the program.
#ifndef BANYAN_EXPERIMENTS_REPORT_ANSWER_OUTLOOK_H_
#define BANYAN_EXPERIMENTS_REPORT_ANSWER_OUTLOOK_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "experiments/records/record_set.h"
#include "experiments/report/answer/answer.h"

namespace banyan {

// A rival, by name, and all cells that it has to beat.
struct Contest {
  const CellRecords* rival = nullptr;
  std::string name;
  std::vector<const CellRecords*> others;
};

// One for each shipped file of costs, in a fixed order.
std::vector<Outlook> Outlooks(absl::Span<const Contest> contests);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_ANSWER_OUTLOOK_H_
