// A cell in words.
#ifndef BANYAN_EXPERIMENTS_REPORT_CELL_TEXT_H_
#define BANYAN_EXPERIMENTS_REPORT_CELL_TEXT_H_

#include <string>

#include "experiments/records/record.pb.h"

namespace banyan {

// Whether some drafter of it carries what it learnt from prompt to prompt.
bool IsWarm(const records::Cell& cell);

// Returns the marks of a cell, which a reader of its numbers must know:
// - "NOT LOSSLESS" if its texts refute its claim to be lossless;
// - "LOSSY" if the method does not keep the target distribution;
// - "warm" if it carries what it learnt from prompt to prompt;
// - "grown (NAME)" if the target is a grown model;
// - "HEADS at the cost of NAME" if heads grew with it and their cost did not.
// Empty if none applies.
std::string Marks(const records::Cell& cell);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_CELL_TEXT_H_
