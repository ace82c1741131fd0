// An answer in sentences, for the terminal and the page alike.
#ifndef BANYAN_EXPERIMENTS_REPORT_ANSWER_ANSWER_SENTENCES_H_
#define BANYAN_EXPERIMENTS_REPORT_ANSWER_ANSWER_SENTENCES_H_

#include <string>
#include <vector>

#include "experiments/records/record_set.h"
#include "experiments/report/answer/answer.h"

namespace banyan {

// Answers the question, two sentences a temperature. The first says yes, no or
// undecided, if the question asks for that: "No: none of 7 trees is faster than
// the chains of its own drafters; 1 is slower, 6 are undecided (16 prompts,
// this machine)." The second says what holds elsewhere: in tokens per pass, and
// at the costs that ship with the program. If `named`, each names the target.
std::vector<std::string> Opening(const std::string& question,
                                 const TargetAnswer& target, bool named);

// What a reader should know of the numbers: the machine's noise, speedups that
// only noise explains, what verdicts rest on, what the reference is and why,
// what "lossless" rests on, rivals that cannot win here, and the set's
// warnings.
std::vector<std::string> Notes(const RecordSet& set, const Answer& answer);

// The fastest lossless methods of a target, in a sentence.
std::string FastestSentence(const TargetAnswer& target, bool largest);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_ANSWER_ANSWER_SENTENCES_H_
