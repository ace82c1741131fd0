// What a command's user should know though nothing failed.
#ifndef BANYAN_EXPERIMENTS_COMMANDS_SHARED_WARNINGS_H_
#define BANYAN_EXPERIMENTS_COMMANDS_SHARED_WARNINGS_H_

#include <string>

#include "experiments/records/record_set.h"

namespace banyan {

// A line on standard error, so that what is printed to standard output, JSON
// too, is the same with it and without.
void PrintWarning(const std::string& warning);

// What a reader of the set's numbers should know, that a machine was loaded
// too.
void PrintWarnings(const RecordSet& set);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_COMMANDS_SHARED_WARNINGS_H_
