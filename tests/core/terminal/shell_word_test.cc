// A shell reads each word as the text that it was made of.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>

#include "core/terminal/columns.h"

namespace banyan {
namespace {

// What a shell makes of `word`.
std::string AsRead(const std::string& word) {
  FILE* pipe = popen(("printf %s " + word).c_str(), "r");
  if (pipe == nullptr) return "no shell";
  std::string read;
  std::array<char, 256> buffer;
  while (const std::size_t size =
             std::fread(buffer.data(), 1, buffer.size(), pipe))
    read.append(buffer.data(), size);
  EXPECT_EQ(pclose(pipe), 0) << word;
  return read;
}

TEST(ShellWord, IsReadAsTheText) {
  for (const std::string text :
       {"plain",       "",          " ",          "a b",     "it's",
        "''",          "'",         "\"quoted\"", "$HOME",   "`ls`",
        "back\\slash", "*",         "~",          "a;b",     "a&b",
        "#no comment", "new\nline", "a=b",        "{x,y}",   "[ab]",
        "!",           "(x)",       "<x>",        "\xc3\xa9"})
    EXPECT_EQ(AsRead(ShellWord(text)), text) << ShellWord(text);
}

TEST(ShellWord, LeavesPlainTextsAsTheyAre) {
  for (const char* text :
       {"models/smollm2", "--text", "a_b-c.d:e,f@g+h%i", "0"})
    EXPECT_EQ(ShellWord(text), text);
  EXPECT_EQ(ShellWord("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellWord(""), "''");
}

}  // namespace
}  // namespace banyan
