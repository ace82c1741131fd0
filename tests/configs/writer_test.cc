// Params written as YAML.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "configs/loader/yaml.h"
#include "core/base/params.h"

namespace banyan {
namespace {

Params Parse(const std::string& text) {
  return ParseYaml(text, "file.yaml").value();
}

bool Same(const Params& a, const Params& b) {
  if (a.kind() != b.kind()) return false;
  if (a.kind() == Params::Kind::kScalar) return a.text() == b.text();
  if (a.kind() == Params::Kind::kList) {
    if (a.items().size() != b.items().size()) return false;
    for (std::size_t i = 0; i < a.items().size(); ++i)
      if (!Same(a.items()[i], b.items()[i])) return false;
    return true;
  }
  if (a.kind() != Params::Kind::kMap) return true;
  if (a.entries().size() != b.entries().size()) return false;
  for (std::size_t i = 0; i < a.entries().size(); ++i)
    if (a.entries()[i].key != b.entries()[i].key ||
        !Same(a.entries()[i].value, b.entries()[i].value))
      return false;
  return true;
}

TEST(Writer, WritesWhatReadsBackToTheSameValues) {
  for (const char* text :
       {"a: {b: [1, {c: 2}], d: ~, e: {}, f: []}\n", "[[1, 2], [], [x: y]]\n",
        "a: \"null\"\nb: \"~\"\nc: \"- x\"\nd: \"a: b\"\ne: \"\"\n",
        "a: \"two\\nlines # no comment\"\nb: \"---\"\n\"k: 1\": 'it''s'\n",
        "word\n", "a: \"...\"\nb: \"Null\"\n\"null\": 1\n\"\": 2\n",
        "a: \"\\x07\\t\\\\ \\u00e4\\u2028\"\nb: ' x '\nc: '{'\nd: '%a'\n",
        "a: '!include x'\nb: '&a'\nc: '*a'\nd: '? x'\ne: 'a #b'\n",
        "a: \"x\\n\"\nb: \"\\n\"\nc: '-'\nd: '?'\ne: ':'\nf: 'a:'\n"}) {
    const Params value = Parse(text);
    const std::string written = ToYaml(value);
    const auto again = ParseYaml(written, "again");
    ASSERT_TRUE(again.ok()) << written << again.status();
    EXPECT_TRUE(Same(value, *again)) << text << "became\n" << written;
  }
}

TEST(Writer, WritesBlocksWithListsOfScalarsOnALine) {
  EXPECT_EQ(ToYaml(Parse("{a: {b: [1, {c: 2}]}, d: [3, x], e: [[1], [2]]}")),
            "a:\n  b:\n    - 1\n    - c: 2\nd: [3, x]\ne:\n  - [1]\n  - [2]\n");
  EXPECT_EQ(ToYaml(Parse("{0.5: 1e-3, path: ../a/b.yaml}")),
            "0.5: 1e-3\npath: ../a/b.yaml\n");
}

}  // namespace
}  // namespace banyan
