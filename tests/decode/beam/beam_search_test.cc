// Beam search against one that is written by the book, and with draft models
// of every kind against itself.
#include "decode/beam/beam_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/model/table_model.h"
#include "core/prob/sampling_rule.h"
#include "decode/sequence.h"
#include "tests/conformance/toys.h"
#include "tests/decode/beam/beam_oracle.h"
#include "tests/support/decoding.h"
#include "tests/support/shared_models.h"

namespace banyan {
namespace {

using testing::HasSubstr;

BeamFindings MustSearch(const Model& target, const Model* draft,
                        const std::vector<TokenId>& prompt,
                        const StopRule& stop, const BeamOptions& options) {
  auto found = BeamSearch(target, draft, prompt, stop, options, SteadyClock());
  Check(found.ok(), found.status().message());
  return *std::move(found);
}

std::string Describe(const BeamOptions& options) {
  return absl::StrCat("width ", options.width, ", draft ", options.draft_width,
                      ", gamma ", options.gamma, ", power ",
                      options.length_power);
}

void ExpectBeam(const BeamFindings& found, const OracleBeam& expected,
                const std::string& what) {
  EXPECT_EQ(found.stopped, expected.stopped) << what;
  EXPECT_EQ(found.steps, expected.steps) << what;
  ASSERT_EQ(found.beam.size(), expected.beam.size()) << what;
  for (std::size_t i = 0; i < found.beam.size(); ++i) {
    EXPECT_EQ(found.beam[i].tokens, expected.beam[i].tokens) << what;
    EXPECT_EQ(found.beam[i].log_probability, expected.beam[i].log_probability)
        << what;
    EXPECT_TRUE(found.beam[i] == expected.beam[i]) << what;
  }
}

// Inputs of a search, with vocabularies of 2 to 6 tokens.
struct Setting {
  std::shared_ptr<TableModel> target;
  std::vector<TokenId> prompt;
  StopRule stop;
  BeamOptions options;
};

std::vector<Setting> Settings() {
  std::vector<Setting> settings;
  for (int seed = 0; seed < 12; ++seed)
    for (int width : {1, 2, 3, 5})
      for (double power : {0., 0.7, 1.}) {
        const int vocab = 2 + seed % 5;
        settings.push_back(
            {Toy({.vocab_size = vocab,
                  .seed = seed,
                  .sharpness = seed % 4 == 3 ? 0. : 1.5,  // all alike: ties
                  .zeros = seed % 3 == 2}),
             {vocab, seed % 2},
             {.end_of_text = seed % 2 == 0 ? std::vector<TokenId>{1}
                                           : std::vector<TokenId>{},
              .max_new_tokens = 1 + seed},
             {.width = width, .length_power = power}});
      }
  return settings;
}

TEST(BeamSearch, IsThatOfTheBook) {
  int ended = 0;
  int alive = 0;
  for (const Setting& setting : Settings()) {
    const OracleBeam expected = SearchByTheBook(*setting.target, setting.prompt,
                                                setting.stop, setting.options);
    const BeamFindings found =
        MustSearch(*setting.target, nullptr, setting.prompt, setting.stop,
                   setting.options);
    ExpectBeam(found, expected, Describe(setting.options));
    // Each step takes one pass, which scores each live text and no other row.
    EXPECT_EQ(found.passes, found.steps);
    EXPECT_EQ(found.rows, expected.rows) << Describe(setting.options);
    EXPECT_EQ(found.draft_rows, 0);
    for (const FoundText& text : found.beam) ++(text.ended ? ended : alive);
  }
  EXPECT_GT(ended, 50);
  EXPECT_GT(alive, 50);
}

// A model of the same tokens that knows nothing of the other.
std::shared_ptr<TableModel> Drafter(const Setting& setting, int kind) {
  const int vocab = setting.target->vocab_size();
  if (kind == 0) return setting.target;
  if (kind == 1) return Toy({.vocab_size = vocab, .seed = 77});
  if (kind == 2) return Toy({.vocab_size = vocab, .sharpness = 0});
  // What the target finds the unlikelier the likelier.
  const auto target = setting.target;
  return std::make_shared<TableModel>(
      vocab, [target, vocab](absl::Span<const TokenId> text) {
        const std::vector<double> masses = Masses(LawAfter(*target, text));
        std::vector<double> turned(masses.size());
        double sum = 0;
        for (std::size_t i = 0; i < masses.size(); ++i)
          sum += turned[i] = 1.01 - masses[i];
        for (double& mass : turned) mass /= sum;
        Check(static_cast<int>(turned.size()) == vocab, "one a token");
        return turned;
      });
}

// The same texts in the same order, with the same bits, whatever drafts.
TEST(BeamSearch, WithADraftModelFindsWhatItFindsPlainly) {
  int searches = 0;
  int saved = 0;
  for (const Setting& setting : Settings()) {
    const BeamFindings plain =
        MustSearch(*setting.target, nullptr, setting.prompt, setting.stop,
                   setting.options);
    for (int kind = 0; kind < 4; ++kind)
      for (const int wider : {0, 1, 4})
        for (const int gamma : {1, 2, 5}) {
          BeamOptions options = setting.options;
          options.draft_width = options.width + wider;
          options.gamma = gamma;
          const auto drafter = Drafter(setting, kind);
          const BeamFindings found =
              MustSearch(*setting.target, drafter.get(), setting.prompt,
                         setting.stop, options);
          ExpectBeam(found, {plain.beam, plain.stopped, plain.steps},
                     absl::StrCat(Describe(options), ", drafter ", kind));
          EXPECT_GE(found.steps, found.passes);
          EXPECT_LE(found.steps, found.passes * (gamma + 1));
          EXPECT_LE(found.rows, found.passes * (options.width +
                                                options.draft_width * gamma));
          ++searches;
          saved += plain.passes - found.passes;
        }
  }
  EXPECT_EQ(searches, 144 * 36);
  EXPECT_GT(saved, searches);
}

TEST(BeamSearch, OfWidthOneIsGreedyDecoding) {
  for (int seed = 0; seed < 20; ++seed) {
    const auto target = Toy({.vocab_size = 5, .seed = seed});
    const auto drafter = Toy({.vocab_size = 5, .seed = seed, .sharpness = 1});
    const std::vector<TokenId> prompt = {5, 1};
    const StopRule stop = {.end_of_text = {static_cast<TokenId>(seed % 5)},
                           .max_new_tokens = 30};
    const std::vector<TokenId> greedy = MustDecodePlainly(
        *target, SamplingRule({.temperature = 0}), {.tokens = prompt}, stop);
    for (const Model* draft : {static_cast<const Model*>(nullptr),
                               static_cast<const Model*>(drafter.get())})
      EXPECT_EQ(MustSearch(*target, draft, prompt, stop,
                           {.width = 1, .draft_width = 2, .gamma = 3})
                    .beam.at(0)
                    .tokens,
                greedy)
          << seed;
  }
}

// A beam as wide as the draft's, by the same model: the draft is the search.
TEST(BeamSearch, AcceptsAllThatTheTargetItselfDrafted) {
  const auto target = Toy({.vocab_size = 6});
  for (int gamma : {1, 3, 7}) {
    const BeamFindings found =
        MustSearch(*target, target.get(), {6, 1}, {.max_new_tokens = 41},
                   {.width = 4, .draft_width = 4, .gamma = gamma});
    EXPECT_EQ(found.steps, 41);
    EXPECT_EQ(found.passes, (41 + gamma) / (gamma + 1));
  }
}

// Nothing is drafted that no step could use.
TEST(BeamSearch, DraftsNoFurtherThanTheLimit) {
  const auto toy = Toy({.vocab_size = 6});
  const BeamOptions options = {.width = 3, .draft_width = 3, .gamma = 9};
  for (int limit : {1, 2, 5}) {
    const BeamFindings found =
        MustSearch(*toy, toy.get(), {6, 1}, {.max_new_tokens = limit}, options);
    EXPECT_EQ(found.passes, 1);
    EXPECT_EQ(found.draft_rows, limit == 1 ? 0 : 1 + 3 * (limit - 2));
    EXPECT_EQ(found.rows, 1 + 3 * (limit - 1));
  }
}

// Drafts that the target never says: every pass gives one step, as plainly.
TEST(BeamSearch, AcceptsNothingOfAModelThatSaysOtherThings) {
  const auto all = Toy({.vocab_size = 3});
  const auto target =
      std::make_shared<TableModel>(6, [all](absl::Span<const TokenId> text) {
        const int at = text.back();
        const std::vector<TokenId> last = {3, at % 3};
        std::vector<double> masses = Masses(LawAfter(*all, last));
        masses.resize(6, 0);
        return masses;
      });
  const TableModel other(6, [](absl::Span<const TokenId> /*text*/) {
    return std::vector<double>{0, 0, 0, 0.25, 0.25, 0.5};
  });
  const BeamFindings found =
      MustSearch(*target, &other, {6, 1}, {.max_new_tokens = 20},
                 {.width = 3, .draft_width = 6, .gamma = 4});
  EXPECT_EQ(found.passes, 20);
  ExpectBeam(
      found,
      SearchByTheBook(*target, {6, 1}, {.max_new_tokens = 20}, {.width = 3}),
      "other things");
  // Each pass scores the live texts and the drafted ones, and no text again.
  int rows = 1 + 3 + 6 * 3;
  for (int left = 19; left > 0; --left) rows += 3 + 6 * std::min(4, left - 1);
  EXPECT_EQ(found.rows, rows);
}

// Texts that end keep their places; a better one may still push them out.
TEST(BeamSearch, KeepsWhatHasEnded) {
  // The first token ends (.4) or not (.6); what goes on splits evenly.
  const TableModel model = TableModel::Bigram(
      {0.4, 0.6, 0}, {{1, 0, 0}, {0, 0.5, 0.5}, {0, 0.5, 0.5}});
  const StopRule stop = {.end_of_text = {0}, .max_new_tokens = 4};
  const BeamFindings one = MustSearch(model, nullptr, {3}, stop, {.width = 1});
  EXPECT_EQ(one.beam[0].tokens, (std::vector<TokenId>{1, 1, 1, 1}));
  EXPECT_EQ(one.stopped, StopReason::kLength);
  const BeamFindings two = MustSearch(model, nullptr, {3}, stop, {.width = 2});
  EXPECT_EQ(two.beam[0].tokens, (std::vector<TokenId>{0}));
  EXPECT_TRUE(two.beam[0].ended);
  EXPECT_EQ(two.beam[1].tokens, (std::vector<TokenId>{1, 1, 1, 1}));
  EXPECT_FALSE(two.beam[1].ended);
  // By its length, .6 * .5^3 of four tokens counts more than .4 of one.
  const BeamFindings long_ones =
      MustSearch(model, nullptr, {3}, stop, {.width = 2, .length_power = 1});
  EXPECT_EQ(long_ones.beam[0].tokens, (std::vector<TokenId>{1, 1, 1, 1}));
  EXPECT_NEAR(long_ones.beam[0].value, long_ones.beam[0].log_probability / 4,
              1e-15);
}

TEST(BeamSearch, StopsWhenAllHaveEnded) {
  const TableModel model =
      TableModel::Bigram({0.5, 0.5}, {{0.5, 0.5}, {0.9, 0.1}});
  const StopRule stop = {.end_of_text = {0}, .max_new_tokens = 50};
  for (const Model* draft : {static_cast<const Model*>(nullptr),
                             static_cast<const Model*>(&model)}) {
    const BeamFindings found =
        MustSearch(model, draft, {2}, stop, {.width = 2, .gamma = 6});
    EXPECT_EQ(found.stopped, StopReason::kEndOfText);
    ASSERT_EQ(found.beam.size(), 2U);
    EXPECT_EQ(found.beam[0].tokens, (std::vector<TokenId>{0}));
    EXPECT_EQ(found.beam[1].tokens, (std::vector<TokenId>{1, 0}));
  }
}

// To the earlier text, then to the lower token.
TEST(BeamSearch, BreaksTiesAsItSays) {
  const auto alike = Toy({.vocab_size = 3, .sharpness = 0});
  const BeamFindings found =
      MustSearch(*alike, nullptr, {3}, {.max_new_tokens = 3}, {.width = 4});
  std::vector<std::vector<TokenId>> texts;
  for (const FoundText& text : found.beam) texts.push_back(text.tokens);
  EXPECT_EQ(texts, (std::vector<std::vector<TokenId>>{
                       {0, 0, 0}, {0, 0, 1}, {0, 0, 2}, {0, 1, 0}}));
}

// The context ends, of the target or of the draft model, which may not even
// hold the prompt.
TEST(BeamSearch, EndsWithTheContextAndGoesOnWithoutTheDrafts) {
  const auto toy = Toy({.vocab_size = 5});
  const std::vector<TokenId> prompt = {5, 1, 2};
  const StopRule stop = {.max_new_tokens = 40};
  const BeamOptions options = {.width = 3, .draft_width = 5, .gamma = 4};
  for (int limit : {3, 4, 9, 20}) {
    const auto target = Limited(toy, limit);
    const OracleBeam expected = SearchByTheBook(*target, prompt, stop, options);
    EXPECT_EQ(expected.stopped, StopReason::kContext);
    EXPECT_EQ(MustDecodePlainly(*target, SamplingRule({.temperature = 0}),
                                {.tokens = prompt}, stop)
                  .size(),
              static_cast<std::size_t>(expected.steps));
    for (int drafts : {1, 3, 5, 9, 100}) {
      const auto drafter = Limited(toy, drafts);
      const BeamFindings found =
          MustSearch(*target, drafter.get(), prompt, stop, options);
      ExpectBeam(found, expected, absl::StrCat(limit, " and ", drafts));
      EXPECT_EQ(found.draft_rows > 0, drafts >= 3 && limit > 3);
    }
  }
}

// More rows fall away in a pass than the context holds, so all are dropped.
TEST(BeamSearch, ScoresAgainWhatItHadToDrop) {
  const auto toy = Toy({.vocab_size = 6});
  const auto drafter = Toy({.vocab_size = 6, .seed = 3});
  const auto target = Limited(toy, 40);
  const StopRule stop = {.max_new_tokens = 30};
  const BeamOptions options = {.width = 4, .draft_width = 16, .gamma = 4};
  const BeamFindings found =
      MustSearch(*target, drafter.get(), {6, 1}, stop, options);
  ExpectBeam(found, SearchByTheBook(*target, {6, 1}, stop, options), "dropped");
  const BeamFindings roomy =
      MustSearch(*toy, drafter.get(), {6, 1}, stop, options);
  EXPECT_GT(found.rows, roomy.rows);
}

TEST(BeamSearch, OfNoTokensIsThePrompt) {
  const auto toy = Toy({.vocab_size = 3});
  const BeamFindings found = MustSearch(
      *toy, toy.get(), {3}, {.max_new_tokens = 0}, {.length_power = 1});
  EXPECT_EQ(found.stopped, StopReason::kLength);
  ASSERT_EQ(found.beam.size(), 1U);
  EXPECT_TRUE(found.beam[0] == FoundText());
  EXPECT_EQ(found.passes, 0);
}

TEST(BeamSearch, RefusesWhatMakesNoSense) {
  const auto toy = Toy({.vocab_size = 3});
  const auto expect = [&](const BeamOptions& options, const Model* draft,
                          const std::string& why,
                          const std::vector<TokenId>& prompt = {3}) {
    const absl::Status status =
        BeamSearch(*toy, draft, prompt, {.max_new_tokens = 5}, options,
                   SteadyClock())
            .status();
    EXPECT_FALSE(status.ok()) << why;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  };
  const Model* draft = toy.get();
  expect({.width = 0}, nullptr, "a width from 1 to 4096, found 0");
  expect({.width = 5000}, nullptr, "a width from 1 to 4096, found 5000");
  expect({.length_power = -1}, nullptr, "at least 0, found -1");
  expect({.length_power = std::numeric_limits<double>::quiet_NaN()}, nullptr,
         "at least 0, found nan");
  expect({.width = 4, .draft_width = 3}, draft,
         "a draft width from the width, 4, to 4096, found 3");
  expect({.draft_width = 5000}, draft, "to 4096, found 5000");
  expect({.gamma = 0}, draft,
         "a gamma from 1 to 512, for at most 4096 draft "
         "texts, found 0");
  expect({.draft_width = 1025}, draft, "a gamma from 1 to 3, ");
  expect({}, nullptr, "the prompt is empty", {});
  const auto other = Toy({.vocab_size = 4});
  expect({}, other.get(),
         "the draft model's vocabulary has 4 tokens, the target's has 3");
  const auto small = Limited(toy, 2);
  EXPECT_THAT(std::string(BeamSearch(*small, nullptr, {3, 1, 1},
                                     {.max_new_tokens = 5}, {}, SteadyClock())
                              .status()
                              .message()),
              HasSubstr("the prompt has 3 tokens, the context holds 2"));
}

// A row that is none is an error in the place of texts.
TEST(BeamSearch, FailsAsItsModelsDo) {
  const auto toy = Toy({.vocab_size = 3});
  const TableModel dead(3, [](absl::Span<const TokenId> text) {
    return text.size() < 4 ? std::vector<double>{0.5, 0.25, 0.25}
                           : std::vector<double>{0, 0, 0};
  });
  const auto search = [](const Model& target, const Model* draft) {
    return BeamSearch(target, draft, {3}, {.max_new_tokens = 9}, {},
                      SteadyClock())
        .status();
  };
  EXPECT_THAT(std::string(search(dead, nullptr).message()),
              HasSubstr("no token is left"));
  EXPECT_THAT(std::string(search(*toy, &dead).message()),
              HasSubstr("no token is left"));
}

}  // namespace
}  // namespace banyan
