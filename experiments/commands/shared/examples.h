// One example for every subcommand, at the end of its help. Each runs as it
// stands where the project lies, which a test does; the later lines of one need
// the first.
#ifndef BANYAN_EXPERIMENTS_COMMANDS_SHARED_EXAMPLES_H_
#define BANYAN_EXPERIMENTS_COMMANDS_SHARED_EXAMPLES_H_

#include "absl/strings/string_view.h"

namespace banyan {

// The lines. Requires that `command` has an example.
absl::string_view ExampleOf(absl::string_view command);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_COMMANDS_SHARED_EXAMPLES_H_
