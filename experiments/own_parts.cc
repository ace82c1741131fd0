// The program `banyan` has the project's parts alone.
#include "experiments/commands/program.h"

namespace banyan {

Parts OwnParts() { return {}; }

}  // namespace banyan
