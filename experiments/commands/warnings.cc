#include "experiments/commands/warnings.h"

#include <iostream>
#include <string>

namespace banyan {

void PrintWarning(const std::string& warning) {
  std::cerr << "banyan: warning: " << warning << "\n";
}

}  // namespace banyan
