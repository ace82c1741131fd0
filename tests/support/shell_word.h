// Paths in a shell's command line.
#ifndef BANYAN_TESTS_SUPPORT_SHELL_WORD_H_
#define BANYAN_TESTS_SUPPORT_SHELL_WORD_H_

#include <string>

namespace banyan {

// The text as one word, whatever spaces and signs are in it.
inline std::string ShellWord(const std::string& text) {
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') word += "'\\'";  // ends the quotes for one sign
    word += c;
  }
  return word + "'";
}

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_SHELL_WORD_H_
