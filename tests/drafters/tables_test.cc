// The drafters that know a table or nothing: unigram, bigram, random.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/text/bigram/bigram.h"
#include "drafters/text/token_counts.h"
#include "drafters/text/unigram/unigram.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/checkpoint/files.h"
#include "tests/drafters/asking.h"
#include "tests/support/drafting.h"
#include "tests/support/shared_models.h"
#include "tests/support/solo.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pointwise;
using testing::StartsWith;
using testing::UnorderedElementsAreArray;

// Up to the rounding of quotients, logarithms and exponentials.
auto Near(const std::vector<double>& masses) {
  return Pointwise(DoubleNear(1e-15), masses);
}

// Of four tokens: 3 was never seen, and nothing ever followed 2.
std::shared_ptr<const TokenCounts> SomeCounts() {
  return std::make_shared<TokenCounts>(TokenCounts{.unigram = {6, 3, 1, 0},
                                                   .offsets = {0, 2, 4, 4, 4},
                                                   .tokens = {1, 2, 0, 1},
                                                   .counts = {3, 1, 2, 2}});
}

template <typename Table>
Solo Asked(const SamplingOptions& sampling = {}) {
  return Solo(std::make_unique<Table>(SomeCounts(), SamplingRule(sampling)));
}

TEST(Unigram, IsTheCountsWhateverCameBefore) {
  Solo drafter = Asked<Unigram>();
  for (const std::vector<TokenId>& text :
       {std::vector<TokenId>{0}, {1, 2}, {3}, {4, 3}}) {
    const Context context = BeginWith(drafter, text);
    for (DrawKind draw_kind : kDrawKinds)
      EXPECT_THAT(Masses(AtRoot(drafter, context, draw_kind)),
                  ElementsAre(6, 3, 1, 0));
  }
  EXPECT_THAT(drafter.traits().draw_kinds,
              UnorderedElementsAreArray(kDrawKinds));
}

TEST(Unigram, FollowsItsRule) {
  Solo cold = Asked<Unigram>({.temperature = 0.5});
  Context context = BeginWith(cold, {0});
  EXPECT_THAT(Masses(AtRoot(cold, context)),
              Near({36. / 46, 9. / 46, 1. / 46, 0}));
  EXPECT_THAT(Masses(AtRoot(cold, context, DrawKind::kDeterministic)),
              ElementsAre(6, 3, 1, 0));
  Solo greedy = Asked<Unigram>({.temperature = 0});
  EXPECT_TRUE(Equal(AtRoot(greedy, context), Distribution::OneHot(4, 0)));
}

TEST(Unigram, PenalisesByTheTextOfEachNode) {
  Solo drafter = Asked<Unigram>({.repetition_penalty = 3, .temperature = 0});
  const auto grown = [&](std::vector<TokenId> text) {
    const Context context = BeginWith(drafter, std::move(text));
    return ToText(MustDraft(drafter, *PolicyOf("chain {nodes: 2}"),
                            {.context = context}));
  };
  EXPECT_EQ(grown({3}), "3(0(1))");
  EXPECT_EQ(grown({0}), "0(1(0))");
}

TEST(Bigram, IsTheRowOfTheLastToken) {
  Solo drafter = Asked<Bigram>();
  for (DrawKind draw_kind : kDrawKinds) {
    for (int again = 0; again < 2; ++again) {  // made, then remembered
      EXPECT_THAT(
          Masses(AtRoot(drafter, BeginWith(drafter, {2, 0}), draw_kind)),
          ElementsAre(0, 3, 1, 0));
      EXPECT_THAT(
          Masses(AtRoot(drafter, BeginWith(drafter, {0, 1}), draw_kind)),
          ElementsAre(2, 2, 0, 0));
    }
  }
  EXPECT_THAT(drafter.traits().draw_kinds,
              UnorderedElementsAreArray(kDrawKinds));
}

TEST(Bigram, IsTheUnigramWhereNothingEverFollowed) {
  Solo drafter = Asked<Bigram>();
  for (TokenId last : {2, 3, 4, -1})
    EXPECT_THAT(Masses(AtRoot(drafter, BeginWith(drafter, {0, last}))),
                ElementsAre(6, 3, 1, 0))
        << last;
}

TEST(Bigram, FollowsItsRule) {
  Solo cold = Asked<Bigram>({.temperature = 0.5});
  EXPECT_THAT(Masses(AtRoot(cold, BeginWith(cold, {0}))),
              Near({0, 0.9, 0.1, 0}));
  EXPECT_THAT(Masses(AtRoot(cold, BeginWith(cold, {2}))),
              Near({36. / 46, 9. / 46, 1. / 46, 0}));
  Solo greedy = Asked<Bigram>({.temperature = 0});
  EXPECT_EQ(ToText(MustDraft(greedy, *PolicyOf("chain {nodes: 3}"),
                             {.context = BeginWith(greedy, {2})})),
            "2(0(1(0)))")
      << "2 backs off; after 1 the tie goes to the lower id";
}

TEST(Bigram, PenalisesByTheTextOfEachNode) {
  Solo drafter = Asked<Bigram>({.repetition_penalty = 9, .temperature = 0});
  const auto grown = [&](std::vector<TokenId> text) {
    const Context context = BeginWith(drafter, std::move(text));
    return ToText(MustDraft(drafter, *PolicyOf("chain {nodes: 2}"),
                            {.context = context}));
  };
  EXPECT_EQ(grown({1, 0}), "0(2(0))") << "1 was seen";
  EXPECT_EQ(grown({2, 0}), "0(1(0))") << "2 was seen, after the same token";
}

TEST(Random, IsUniform) {
  const auto drafter = MustAsk("random", {.vocab_size = 5});
  const Context context = BeginWith(*drafter, {1, 2});
  for (DrawKind draw_kind : kDrawKinds)
    EXPECT_THAT(Masses(AtRoot(*drafter, context, draw_kind)), Each(0.2));
  EXPECT_THAT(drafter->traits().draw_kinds,
              UnorderedElementsAreArray(kDrawKinds));
  EXPECT_THAT(Refusal("random {seed: 3}"), HasSubstr("unknown key 'seed'"));
}

TEST(Tables, AreFoundBesideTheFileThatNamesThem) {
  const TestFolder folder;
  const std::string path = folder.path() + "/c.safetensors";
  ASSERT_TRUE(WriteTokenCounts(path, *SomeCounts()).ok());
  for (const char* name : {"unigram", "bigram"}) {
    for (const std::string& file : {std::string("c.safetensors"), path}) {
      const auto drafter =
          MustAsk(std::string(name) + " {counts: " + file + "}",
                  {.vocab_size = 4, .file = folder.path() + "/method.yaml"});
      EXPECT_THAT(Masses(AtRoot(*drafter, BeginWith(*drafter, {2}))),
                  ElementsAre(6, 3, 1, 0));
    }
    const auto greedy =
        MustAsk(std::string(name) + " {counts: " + path +
                    ", sampling: {temperature: 0}}",
                {.vocab_size = 4, .sampling = {.temperature = 1}});
    EXPECT_TRUE(Equal(AtRoot(*greedy, BeginWith(*greedy, {2})),
                      Distribution::OneHot(4, 0)));
  }
}

TEST(Tables, RefuseWhatCannotBe) {
  const TestFolder folder;
  const std::string path = folder.path() + "/c.safetensors";
  ASSERT_TRUE(WriteTokenCounts(path, *SomeCounts()).ok());
  for (const std::string name : {"unigram", "bigram"}) {
    EXPECT_THAT(Refusal(name), HasSubstr("missing key 'counts'"));
    EXPECT_THAT(Refusal(name + " {counts: [1]}"),
                HasSubstr("expected a text, found a list"));
    EXPECT_THAT(Refusal(name + " {counts: no_such_file}"),
                testing::AllOf(StartsWith("drafter.yaml:1:"),
                               HasSubstr("no_such_file: No such file")));
    EXPECT_THAT(Refusal(name + " {counts: " + path + "}"),
                testing::AllOf(StartsWith("drafter.yaml:1:"),
                               HasSubstr(path + ": tensor 'unigram': expected "
                                                "I64 [8], the target's "
                                                "vocabulary, found I64 [4]")));
    EXPECT_THAT(
        Refusal(name + " {counts: " + path + ", draws: x}", {.vocab_size = 4}),
        HasSubstr("unknown key 'draws'"));
    EXPECT_THAT(Refusal(name + " {counts: " + path + "}", {.vocab_size = 4}),
                IsEmpty());
  }
}

}  // namespace
}  // namespace banyan
