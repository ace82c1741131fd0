// What two runs do not have in common.
#ifndef BANYAN_EXPERIMENTS_REPORT_CONTEXT_DIFFERENCES_H_
#define BANYAN_EXPERIMENTS_REPORT_CONTEXT_DIFFERENCES_H_

#include <string>
#include <vector>

#include "experiments/records/record.pb.h"

namespace banyan {

// "compiler: X | Y" for every fact of build, machine and experiment that
// differs. Measured bandwidth counts as different from a tenth on.
std::vector<std::string> ContextDifferences(const records::Context& a,
                                            const records::Context& b);

// The same for the settings of two cells, each led by the name of the first.
std::vector<std::string> CellDifferences(const records::Cell& a,
                                         const records::Cell& b);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_CONTEXT_DIFFERENCES_H_
