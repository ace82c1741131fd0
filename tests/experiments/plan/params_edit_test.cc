// Values put into a file's parameters.
#include "experiments/plan/params_edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "configs/loader/loader.h"
#include "configs/loader/writer.h"
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

}  // namespace
}  // namespace banyan
