// Where a command's text goes.
#ifndef BANYAN_EXPERIMENTS_REPORT_OUTPUT_H_
#define BANYAN_EXPERIMENTS_REPORT_OUTPUT_H_

#include <functional>
#include <ostream>
#include <string>

#include "absl/status/status.h"

namespace banyan {

// Calls `write` with the file at `path`, or with standard output if `path` is
// empty. Fails as `write` does, or naming the file if it cannot be written.
absl::Status WriteOutput(
    const std::string& path,
    const std::function<absl::Status(std::ostream&)>& write);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_OUTPUT_H_
