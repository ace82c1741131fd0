#include "experiments/commands/shared/warnings.h"

#include <iostream>
#include <string>

#include "core/text/columns.h"
#include "experiments/records/record_set.h"

namespace banyan {

void PrintWarning(const std::string& warning) {
  std::cerr << "banyan: warning: " << VisibleLines(warning) << "\n";
}

void PrintWarnings(const RecordSet& set) {
  if (!set.loaded.empty()) PrintWarning(set.loaded);
  for (const std::string& warning : set.warnings) PrintWarning(warning);
}

}  // namespace banyan
