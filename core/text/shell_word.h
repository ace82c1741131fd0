// Words of a shell's command line.
#ifndef BANYAN_CORE_TEXT_SHELL_WORD_H_
#define BANYAN_CORE_TEXT_SHELL_WORD_H_

#include <string>

#include "absl/strings/string_view.h"

namespace banyan {

// Returns `text` as a POSIX shell reads it as one word: as it is, or in quotes
// if a sign in it means something to a shell.
std::string ShellWord(absl::string_view text);

}  // namespace banyan

#endif  // BANYAN_CORE_TEXT_SHELL_WORD_H_
