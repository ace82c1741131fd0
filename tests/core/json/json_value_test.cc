#include "core/json/json_value.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace banyan {
namespace {

TEST(JsonValue, WritesScalars) {
  EXPECT_EQ(JsonValue().Text(), "null");
  EXPECT_EQ(JsonValue(true).Text(), "true");
  EXPECT_EQ(JsonValue(-7).Text(), "-7");
  EXPECT_EQ(JsonValue(std::numeric_limits<std::uint64_t>::max()).Text(),
            "18446744073709551615");
  EXPECT_EQ(JsonValue(std::numeric_limits<std::int64_t>::min()).Text(),
            "-9223372036854775808");
  EXPECT_EQ(JsonValue(0.1).Text(), "0.1");
  EXPECT_EQ(JsonValue(2.0).Text(), "2.0");
  EXPECT_EQ(JsonValue(std::numeric_limits<double>::quiet_NaN()).Text(), "null");
  EXPECT_EQ(JsonValue("a\"\n\\").Text(), R"("a\"\n\\")");
  EXPECT_EQ(JsonValue("\xFFz").Text(), "\"\xEF\xBF\xBDz\"");
  EXPECT_EQ(JsonValue(std::optional<int>(3)).Text(), "3");
  EXPECT_EQ(JsonValue(std::optional<int>()).Text(), "null");
  EXPECT_EQ(NullIfEmpty("").Text(), "null");
  EXPECT_EQ(NullIfEmpty("x").Text(), "\"x\"");
}

TEST(JsonValue, WritesListsAndObjects) {
  EXPECT_EQ(JsonValue::List().Text(2), "[]");
  EXPECT_EQ(JsonValue::Object().Text(2), "{}");
  JsonValue out = {{"z", 1}, {"a", {{"b", std::vector<int>{1, 2}}}}};
  out["z"] = "changed";
  out["rows"].Add({{"ms", 1}})["ms"] = 1.5;
  out["rows"].Add(nullptr);
  EXPECT_EQ(out.Text(),
            R"({"z":"changed","a":{"b":[1,2]},"rows":[{"ms":1.5},null]})");
  // As the library writes what it read.
  for (int indent : {-1, 0, 2})
    EXPECT_EQ(out.Text(indent),
              nlohmann::ordered_json::parse(out.Text()).dump(indent));
}

TEST(JsonValueDeathTest, KeepsItsKind) {
  EXPECT_DEATH(JsonValue::List()["key"], "a key of what is no object");
  EXPECT_DEATH(JsonValue(1).Add(2), "an item of what is no list");
}

}  // namespace
}  // namespace banyan
