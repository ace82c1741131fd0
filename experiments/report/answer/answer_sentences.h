// An answer in sentences, for the terminal and the page alike.
#ifndef BANYAN_EXPERIMENTS_REPORT_ANSWER_ANSWER_SENTENCES_H_
#define BANYAN_EXPERIMENTS_REPORT_ANSWER_ANSWER_SENTENCES_H_

#include <string>
#include <vector>

#include "experiments/records/record_set.h"
#include "experiments/report/answer/answer.h"

namespace banyan {

// Answers the question, one sentence per temperature: "At T = 0, 1 of 9 trees
// is faster than chain-4 draft-2, 5 are slower, 3 are open." If `named`, each
// names the target: "On small at T = 0, ...".
std::vector<std::string> Opening(const TargetAnswer& target, bool named);

// What a reader should know of the numbers: what the reference is and why,
// which numbers travel to other machines, what "lossless" rests on, rivals that
// cannot win here, speedups that only noise explains, and the set's warnings.
std::vector<std::string> Notes(const RecordSet& set, const Answer& answer);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_ANSWER_ANSWER_SENTENCES_H_
