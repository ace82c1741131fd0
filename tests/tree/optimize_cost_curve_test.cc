#include <limits>
#include <map>
#include <string>

#include "core/base/params.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tree/optimize/cost_curve.h"

namespace banyan {
namespace {

using ::testing::HasSubstr;
using Milliseconds = std::map<int, double>;

CostCurve Curve(const Milliseconds& ms) {
  return CostCurve::FromMap("ms", ms).value();
}

std::string CurveError(const Milliseconds& ms) {
  return std::string(CostCurve::FromMap("ms", ms).status().message());
}

TEST(CostCurve, IsLinearBetweenItsKeys) {
  const CostCurve curve = Curve({{1, 10}, {5, 12}, {6, 20}});
  EXPECT_DOUBLE_EQ(*curve.At(1), 10);
  EXPECT_DOUBLE_EQ(*curve.At(2), 10.5);
  EXPECT_DOUBLE_EQ(*curve.At(4), 11.5);
  EXPECT_DOUBLE_EQ(*curve.At(5), 12);
  EXPECT_DOUBLE_EQ(*curve.At(6), 20);
  EXPECT_EQ(Curve({{1, 10}, {2, 3}, {9, 8}}).cheapest(), 3);
}

TEST(CostCurve, IsNotReadOutsideItsKeys) {
  const CostCurve curve = Curve({{2, 10}, {5, 12}});
  EXPECT_EQ(curve.At(1).status().message(),
            "ms is needed at 1 tokens but given from 2 to 5; add the key 1");
  EXPECT_THAT(std::string(curve.At(6).status().message()),
              HasSubstr("add the key 6"));
  EXPECT_FALSE(CostCurve().At(1).ok());
}

TEST(CostCurve, HoldsPositiveTimesOfPassesThatExist) {
  EXPECT_THAT(CurveError({}), HasSubstr("no entries"));
  EXPECT_THAT(CurveError({{0, 1}}), HasSubstr("has the key 0"));
  EXPECT_THAT(CurveError({{1, 1}, {3, 0}}), HasSubstr("ms is 0 at 3 tokens"));
  EXPECT_FALSE(CurveError({{1, -2}}).empty());
  EXPECT_FALSE(
      CurveError({{1, std::numeric_limits<double>::quiet_NaN()}}).empty());
  EXPECT_FALSE(
      CurveError({{1, std::numeric_limits<double>::infinity()}}).empty());
}

TEST(CostCurve, IsReadInTheOrderOfItsKeys) {
  const auto point = [](const std::string& key, const std::string& ms) {
    return Params::Entry{key, {}, Params::Scalar(ms)};
  };
  const auto curve = CostCurve::FromParams(
      "ms", Params::Map({point("1", "10"), point("5", "12")}));
  ASSERT_TRUE(curve.ok()) << curve.status();
  EXPECT_DOUBLE_EQ(*curve->At(2), 10.5);
  EXPECT_EQ(CostCurve::FromParams(
                "ms", Params::Map({point("5", "12"), point("1", "10")}))
                .status()
                .message(),
            "ms has the key 1 after 5; expected ascending keys");
  EXPECT_THAT(
      std::string(CostCurve::FromParams("ms", Params::Map({point("1", "-1")}))
                      .status()
                      .message()),
      HasSubstr("ms is -1 at 1 tokens"));
  EXPECT_FALSE(CostCurve::FromParams("ms", Params::Map({})).ok());
}

}  // namespace
}  // namespace banyan
