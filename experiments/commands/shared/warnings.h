// What a command's user should know though nothing failed.
#ifndef BANYAN_EXPERIMENTS_COMMANDS_SHARED_WARNINGS_H_
#define BANYAN_EXPERIMENTS_COMMANDS_SHARED_WARNINGS_H_

#include <string>

namespace banyan {

// A line on standard error, so that what is printed to standard output, JSON
// too, is the same with it and without.
void PrintWarning(const std::string& warning);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_COMMANDS_SHARED_WARNINGS_H_
