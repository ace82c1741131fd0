#include "experiments/commands/shared/warnings.h"

#include <iostream>
#include <string>

#include "core/text/columns.h"

namespace banyan {

void PrintWarning(const std::string& warning) {
  std::cerr << "banyan: warning: " << VisibleLines(warning) << "\n";
}

}  // namespace banyan
