// Values put into a file's parameters, and parameters written as YAML.
#include "experiments/plan/params_edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "configs/loader/loader.h"
#include "core/base/params.h"

namespace banyan {
namespace {

using testing::HasSubstr;

Params Parse(const std::string& text) {
  return ParseYaml(text, "file.yaml").value();
}

TEST(ParamsEdit, ReachesIntoMapsAndLists) {
  const Params root = Parse("a: {b: [1, {c: 2}]}\n");
  const auto at = [&](const std::string& path) {
    const auto with = WithValue(root, path, Params::Scalar("9"));
    return with.ok() ? ToYaml(*with) : std::string(with.status().message());
  };
  EXPECT_EQ(at("a.b.1.c"), "a:\n  b:\n    - 1\n    -\n      c: 9\n");
  EXPECT_EQ(at("a.d"), "a:\n  b:\n    - 1\n    -\n      c: 2\n  d: 9\n");
  EXPECT_EQ(at("a.b.0"), "a:\n  b:\n    - 9\n    -\n      c: 2\n");
  EXPECT_THAT(at("a.b.2"), HasSubstr("no item of a list of 2"));
  EXPECT_THAT(at("a.b.0.c"), HasSubstr("goes into '1'"));
}

TEST(ParamsEdit, WritesYamlThatReadsBack) {
  for (const char* text :
       {"a: {b: [1, {c: 2}], d: ~, e: {}, f: []}\n", "[[1, 2], [], [x: y]]\n",
        "a: \"null\"\nb: \"~\"\nc: \"- x\"\nd: \"a: b\"\ne: \"\"\n",
        "a: \"two\\nlines # no comment\"\nb: \"---\"\n\"k: 1\": 'it''s'\n",
        "word\n"}) {
    const Params value = Parse(text);
    const std::string written = ToYaml(value);
    const auto again = ParseYaml(written, "again");
    ASSERT_TRUE(again.ok()) << written << again.status();
    EXPECT_EQ(ToYaml(*again), written) << text;
  }
  EXPECT_EQ(Parse(ToYaml(Parse("a: \"null\"\n"))).Find("a")->kind(),
            Params::Kind::kScalar);
}

}  // namespace
}  // namespace banyan
