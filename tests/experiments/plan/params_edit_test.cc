// Values put into a file's parameters.
#include "experiments/plan/params_edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "configs/loader/yaml.h"
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
  EXPECT_EQ(at("a.b.1.c"), "a:\n  b:\n    - 1\n    - c: 9\n");
  EXPECT_EQ(at("a.d"), "a:\n  b:\n    - 1\n    - c: 2\n  d: 9\n");
  EXPECT_EQ(at("a.b.0"), "a:\n  b:\n    - 9\n    - c: 2\n");
  EXPECT_THAT(at("a.b.2"), HasSubstr("no item of a list of 2"));
  EXPECT_THAT(at("a.b.0.c"), HasSubstr("goes into '1'"));
}

// The tables of one file are not mixed with those of another.
TEST(ParamsEdit, OverlaysCostsAsAWhole) {
  const Params base = Parse(
      "{name: sequoia, levels: 3, target_ms: {passes: [{ms: {1: 2}}], levels: "
      "[{ms: {a: 1}}]}}");
  const Params over =
      Overlay(base, Parse("{target_ms: {passes: [{ms: {1: 4}}]}, nodes: 2}"));
  EXPECT_EQ(over.Find("target_ms")->Find("levels"), nullptr);
  EXPECT_NE(over.Find("name"), nullptr);
  const Params listed =
      Overlay(base, Parse("{acceptance: [{passes: [{ms: {1: 4}}]}]}"));
  EXPECT_NE(listed.Find("name"), nullptr) << "a policy that lists costs";
  const Params curve = Overlay(base, Parse("{target_ms: {1: 5}}"));
  EXPECT_EQ(curve.Find("target_ms")->entries().size(), 1U);
}

}  // namespace
}  // namespace banyan
