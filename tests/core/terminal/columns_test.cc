// What stands in a terminal for a text of any origin, and how wide.
#include "core/terminal/columns.h"

#include <gtest/gtest.h>

#include <string>

namespace banyan {
namespace {

TEST(Columns, DrawsControlCharactersAndBrokenBytes) {
  EXPECT_EQ(Printable("plain \u00e9\u65e5\U0001F600"),
            "plain \u00e9\u65e5\U0001F600");
  EXPECT_EQ(Printable("a\n\t\x7f"), "a\u240a\u2409\u2421");
  EXPECT_EQ(Printable("\xff\xc3"), "\uFFFD\uFFFD");
  EXPECT_EQ(Printable("\xc3(x"), "\uFFFD(x");
  EXPECT_EQ(Printable("\xc0\xaf"), "\uFFFD\uFFFD");            // overlong
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(Printable("\xef\xbf\xbf"), "\uFFFD");              // no character
  EXPECT_EQ(Printable("\xc2\x85"), "\uFFFD");                  // a control
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"),  // beyond the last
            "\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(Printable(std::string("\0", 1)), "\u2400");
}

TEST(Columns, KeepsTheFirstAndTheLastOfEveryRange) {
  for (const char* kept : {" ", "~", "\u00a0", "\u07ff", "\u0800", "\ud7ff",
                           "\ue000", "\ufffd", "\U00010000", "\U0010fffd"})
    EXPECT_EQ(Printable(kept), kept);
  EXPECT_EQ(Printable("\x1f"), "\u241f");
  EXPECT_EQ(Printable("\xc2\x80"), "\uFFFD");  // the first control
  EXPECT_EQ(Printable("\xc2\x9f"), "\uFFFD");  // the last
  EXPECT_EQ(Printable("\xed\xbf\xbf"), "\uFFFD\uFFFD\uFFFD");  // the last
  EXPECT_EQ(Printable("\U0010fffe"), "\uFFFD");
  // The largest codes that a shorter sequence holds.
  EXPECT_EQ(Printable("\xc1\xbf"), "\uFFFD\uFFFD");
  EXPECT_EQ(Printable("\xe0\x9f\xbf"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(Printable("\xf0\x8f\xbf\xbf"), "\uFFFD\uFFFD\uFFFD\uFFFD");
}

TEST(Visible, SpellsOutWhatATerminalWouldObey) {
  EXPECT_EQ(Visible("a\x1b[31m"), "a\\x1b[31m");
  EXPECT_EQ(Visible(absl::string_view("\0\x7f\n\r\t", 5)),
            "\\x00\\x7f\\n\\r\\t");
  EXPECT_EQ(Visible("a\u202eb\u2066\u200f"), "a\\u202eb\\u2066\\u200f");
  EXPECT_EQ(Visible("\xc2\x9b"), "\\u009b");  // a CSI in one character
  EXPECT_EQ(Visible("\u2028"), "\\u2028");
  EXPECT_EQ(Visible("\xff\xc2"), "\\xff\\xc2");
  // All else stays, what a text says of itself too.
  const std::string kept = "\u65e5 \U0001F600 e\u0301 a\u200db \uFFFD \\n";
  EXPECT_EQ(Visible(kept), kept);
  EXPECT_EQ(VisibleLines("a\x1b\n\nb\r\n"), "a\\x1b\n\nb\\r\n");
}

TEST(Columns, AreThoseOfATerminal) {
  EXPECT_EQ(Columns(""), 0);
  EXPECT_EQ(Columns("ab\u00e9"), 3);
  EXPECT_EQ(Columns("\u65e5a"), 3);     // wide
  EXPECT_EQ(Columns("\U0001F600"), 2);  // an emoji
  EXPECT_EQ(Columns("e\u0301"), 1);     // a combining mark
  EXPECT_EQ(Columns("a\u200db"), 2);    // a joiner
  EXPECT_EQ(Columns("\n\xff"), 2);      // as they are drawn
  EXPECT_EQ(Columns("\u0378"), 1);      // unassigned
  EXPECT_EQ(Columns("\ue000"), 1);      // private
}

TEST(Columns, PaddingFillsThem) {
  EXPECT_EQ(Padded("\u65e5", 4), "\u65e5  ");
  EXPECT_EQ(Padded("e\u0301", 2), "e\u0301 ");
  EXPECT_EQ(Padded("long", 3), "long");
}

}  // namespace
}  // namespace banyan
