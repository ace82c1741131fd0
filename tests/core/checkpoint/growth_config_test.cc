// What config.json says of a grown model.
#include <string>
#include <vector>

#include "core/checkpoint/architecture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/checkpoint/configs.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Json Config() {
  return {{"model_type", "llama"},
          {"vocab_size", 100},
          {"hidden_size", 48},
          {"intermediate_size", 52},
          {"num_hidden_layers", 4},
          {"num_attention_heads", 8},
          {"inert_layers", {1, 3}},
          {"max_position_embeddings", 64},
          {"grown_from", {{"name", "small"}, {"hidden_size", 12}}}};
}

TEST(GrowthConfig, NamesTheOriginAndTheInertLayers) {
  const auto grown = ReadConfig(Config());
  ASSERT_TRUE(grown.ok()) << grown.status();
  EXPECT_EQ(grown->grown_from, "small");
  EXPECT_THAT(grown->inert_layers, ElementsAre(1, 3));
  const auto wider = ReadConfig(With(Config(), "inert_layers", Json::array()));
  ASSERT_TRUE(wider.ok()) << wider.status();
  EXPECT_EQ(wider->grown_from, "small");
  EXPECT_THAT(wider->inert_layers, IsEmpty());
}

TEST(GrowthConfig, IsAbsentInAnyOtherModel) {
  const auto plain =
      ReadConfig(Without(Without(Config(), "grown_from"), "inert_layers"));
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->grown_from, "");
  EXPECT_THAT(plain->inert_layers, IsEmpty());
}

TEST(GrowthConfig, MayGiveTheNormsOfHeadsAnEpsilonOfTheirOwn) {
  const Json config =
      With(With(Config(), "model_type", "qwen3"), "rms_norm_eps", 1e-5);
  const auto shared = ReadConfig(config);
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_EQ(shared->head_norm_epsilon, 1e-5);
  const auto own = ReadConfig(With(config, "head_norm_eps", 4e-5));
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->norm_epsilon, 1e-5);
  EXPECT_EQ(own->head_norm_epsilon, 4e-5);
}

TEST(GrowthConfig, RefusesWhatItCannotMean) {
  struct Case {
    Json layers;
    std::string reason;
  };
  for (const Case& bad : std::vector<Case>{
           {{4}, "expected ascending numbers below 4, found 4 at place 0"},
           {{-1}, "found -1 at place 0"},
           {{1, 1}, "found 1 at place 1"},
           {{2, 1}, "found 1 at place 1"},
           {{0, 1.5}, "found 1.5 at place 1"},
           {{"0"}, "found \"0\" at place 0"},
           {3, "expected a list of numbers, found 3"}})
    EXPECT_THAT(Refused(With(Config(), "inert_layers", bad.layers)),
                testing::AllOf(HasSubstr("c.json: inert_layers: "),
                               HasSubstr(bad.reason)))
        << bad.layers;
  EXPECT_THAT(Refused(Without(Config(), "inert_layers")),
              HasSubstr("c.json: inert_layers: expected a list"));
  EXPECT_THAT(Refused(Without(Config(), "grown_from")),
              HasSubstr("c.json: grown_from: expected an object"));
  EXPECT_THAT(Refused(With(Config(), "grown_from", "small")),
              HasSubstr("c.json: grown_from: expected an object"));
  EXPECT_THAT(Refused(With(Config(), "grown_from", {{"name", ""}})),
              HasSubstr("c.json: grown_from.name: expected a text"));
}

}  // namespace
}  // namespace banyan
