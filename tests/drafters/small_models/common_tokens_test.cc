#include "drafters/small_models/common_tokens/common_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/table_model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "core/tokenizer/tokenizer.h"
#include "drafters/drafter.h"
#include "drafters/small_models/own_reader.h"
#include "tests/conformance/toys.h"
#include "tests/drafters/asking.h"
#include "tests/drafters/small_models/other_models.h"
#include "tests/drafters/trying.h"
#include "tests/support/drafting.h"
#include "tests/support/made/toy_tokenizer.h"
#include "tests/support/shared_models.h"
#include "tests/support/solo.h"
#include "tests/support/tree_text.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A penalty, so that the history matters, which is the target's.
SamplingRule Rule() {
  return SamplingRule({.repetition_penalty = 1.3, .temperature = 0.8});
}

Solo Asked(const OtherPair& pair, const SamplingRule& rule) {
  return Solo(
      std::make_unique<CommonTokens>(pair.vocab_size(), pair.Open(), rule));
}

// A drafter in use. Every proposal it makes is held against one made from
// nothing: the whole text cut anew, and the path below it.
class Compared : public CommonTokens {
 public:
  explicit Compared(OtherPair pair)
      : CommonTokens(pair.vocab_size(), pair.Open(), Rule()),
        pair_(std::move(pair)) {}

  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override {
    auto all = CommonTokens::Propose(requests);
    EXPECT_TRUE(all.ok()) << all.status();
    for (std::size_t i = 0; i < requests.size(); ++i)
      for (std::size_t j = 0; j < requests[i].nodes.size(); ++j)
        Compare(requests[i], requests[i].nodes[j], (*all)[i][j].q);
    return all;
  }

  int compared = 0;
  int silent = 0;

 private:
  void Compare(const DraftRequest& request, int node,
               const Distribution& proposal) {
    const std::vector<TokenId> path = TokensTo(*request.tree, node);
    const Distribution expected = Expected(*request.context, path);
    EXPECT_TRUE(Equal(proposal, expected))
        << "node " << node << " of " << ToText(*request.tree) << " after '"
        << pair_.TextOf(request.context->tokens) << "'";
    ++compared;
    if (expected.empty()) ++silent;
  }

  Distribution Expected(const Context& context,
                        absl::Span<const TokenId> path) const {
    const Distribution none = Distribution::Sparse(pair_.vocab_size(), {}, {});
    std::vector<TokenId> own = pair_.Cut(context.tokens);
    for (TokenId token : path) {
      const std::optional<TokenId> same = pair_.SameAs(token);
      if (!same.has_value()) return none;
      own.push_back(*same);
    }
    if (own.empty()) return none;
    const std::vector<double> said = LogitsAfter(*pair_.model, own);
    std::vector<double> logits(static_cast<std::size_t>(pair_.vocab_size()),
                               -std::numeric_limits<double>::infinity());
    for (TokenId token = 0; token < pair_.vocab_size(); ++token)
      if (const auto same = pair_.SameAs(token))
        logits[static_cast<std::size_t>(token)] =
            said[static_cast<std::size_t>(*same)];
    const auto law = Rule().Apply(logits, context.tokens, path);
    EXPECT_TRUE(law.ok()) << law.status();
    return *law;
  }

  OtherPair pair_;
};

OtherPair Letters(int seed = 4) {
  return OtherPair({"a", "b", "c", "ab", "<end>"},
                   {"b", "<stop>", "ab", "a", "ba", "x", "aab"}, seed);
}

std::string RandomPolicy(std::mt19937_64& bits) {
  const std::vector<std::string> specs = {
      "chain {nodes: 4}", "sequences {width: 3, levels: 3}",
      "best_first {most_draws: 8}", "expansion {branching: [2, 2, 2]}",
      "chain {nodes: 0}"};
  return specs[bits() % specs.size()];
}

// Rounds of which some are abandoned.
void RunRounds(const OtherPair& pair, std::uint64_t seed, int rounds = 60) {
  const auto compared = std::make_shared<Compared>(pair);
  Solo drafter(compared);
  std::mt19937_64 bits(seed);
  Context context = BeginWith(drafter, {0, 1, 0});
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(absl::StrCat("round ", round));
    for (auto abandoned = bits() % 3; abandoned > 0; --abandoned)
      MustDraft(drafter, *PolicyOf(RandomPolicy(bits)),
                {.limits = {.max_depth = static_cast<int>(bits() % 4)},
                 .seed = bits(),
                 .context = context});
    const TrunkTree tree = MustDraft(drafter, *PolicyOf(RandomPolicy(bits)),
                                     {.seed = bits(), .context = context});
    EndRound(tree, pair.vocab_size(), bits, {&drafter}, context);
  }
  EXPECT_GT(compared->compared, 150);
}

TEST(CommonTokens, ProposesAsOneThatReadsTheWholeTextWhateverTheVerdicts) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) RunRounds(Letters(), seed);
}

// Its pattern looks three letters ahead: what had settled changes at times, and
// the text is read again.
TEST(CommonTokens, ReadsAgainWhatHadNotSettledAfterAll) {
  const auto own =
      ToyTokenizer({"a", "b", "c", "ab"}, {.pattern = "abbc|a|b|c"});
  const OtherPair pair({"a", "b", "c"}, own, 4);
  for (std::uint64_t seed = 0; seed < 6; ++seed) RunRounds(pair, seed);
}

TEST(CommonTokens, BeginForgetsThePreviousPrompt) {
  Solo drafter(std::make_unique<Compared>(Letters()));
  for (const std::vector<TokenId>& prompt :
       {std::vector<TokenId>{0, 1}, {2}, {1, 4, 0}, {3, 3}}) {
    const Context context = BeginWith(drafter, prompt);
    MustDraft(drafter, *PolicyOf("expansion {branching: [2, 2]}"),
              {.context = context});
  }
}

// A begin token of the model, which the text brings along or not.
TEST(CommonTokens, BeginsATextAsItsTokenizerDoes) {
  const auto own = ToyTokenizer({"<begin>", "a", "b"});
  const auto read = [&](const std::vector<std::string>& target,
                        const std::vector<TokenId>& text) {
    OwnReader reader(Toy({}), OtherPair(target, own, 1).Open().map);
    EXPECT_TRUE(reader.Begin(text).ok());
    return reader.tokens();
  };
  EXPECT_THAT(read({"b", "a"}, {0, 1}), ElementsAre(0, 2, 1));
  EXPECT_THAT(read({"b", "<begin>", "a"}, {1, 0, 2}), ElementsAre(0, 2, 1));
  EXPECT_THAT(read({"b", "<other>", "a"}, {1, 0, 2}), ElementsAre(0, 2, 1));
}

TEST(CommonTokens, SaysNothingWithoutAText) {
  const auto compared = std::make_shared<Compared>(Letters());
  Solo drafter(compared);
  const Context context = BeginWith(drafter, {2});  // a c, which it lacks
  EXPECT_TRUE(AtRoot(drafter, context).empty());
  EXPECT_EQ(compared->silent, 1);
}

// Its likeliest token may be one that the target lacks.
TEST(CommonTokens, TakesTheBestCommonTokenAtTemperatureZero) {
  OtherPair pair({"a", "b", "c"}, {"x", "b", "a"}, 1);
  pair.model =
      std::make_shared<TableModel>(3, [](absl::Span<const TokenId> /*text*/) {
        return std::vector<double>{0.6, 0.3, 0.1};
      });
  const auto at_root = [&](const SamplingOptions& options, DrawKind draw_kind) {
    Solo drafter = Asked(pair, SamplingRule(options));
    const Context context = BeginWith(drafter, {0});
    return Masses(AtRoot(drafter, context, draw_kind));
  };
  EXPECT_THAT(at_root({.temperature = 0}, DrawKind::kIndependent),
              ElementsAre(0, 1, 0));
  EXPECT_THAT(at_root({.temperature = 0}, DrawKind::kDeterministic),
              ElementsAre(testing::DoubleEq(0.25), testing::DoubleEq(0.75), 0))
      << "ranked by the masses of temperature 1";
  EXPECT_THAT(at_root({.temperature = 1}, DrawKind::kIndependent),
              ElementsAre(testing::DoubleEq(0.25), testing::DoubleEq(0.75), 0));
  EXPECT_THAT(at_root({.banned = {1}}, DrawKind::kIndependent),
              ElementsAre(1, 0, 0))
      << "1 is the target's b";
  EXPECT_THAT(at_root({.banned = {0, 1}}, DrawKind::kIndependent),
              ElementsAre(0, 0, 0));
}

// Two bytes make é; the text ends between them.
TEST(CommonTokens, ReadsWhatCutsACharacterTokenByToken) {
  const auto at_root = [](const OtherPair& pair) {
    Solo drafter = Asked(pair, SamplingRule());
    const Context context = BeginWith(drafter, {'a', 0xC3});
    return AtRoot(drafter, context);
  };
  const OtherPair pair = Bytes({"é", "aé"});
  const Distribution law = at_root(pair);
  const TokenId a = *pair.own->FindToken("a");
  const TokenId half = *pair.own->FindToken("Ã");
  const std::vector<double> said =
      LogitsAfter(*pair.model, std::vector<TokenId>{a, half});
  for (const int token : {0x61, 0x62, 0xA9}) {
    const double ratio = law.Mass(token) / law.Mass('z');
    const auto logit = [&](TokenId of) {
      return said[static_cast<std::size_t>(*pair.SameAs(of))];
    };
    EXPECT_NEAR(std::log(ratio), logit(token) - logit('z'), 1e-9);
  }
  EXPECT_TRUE(at_root(Bytes({}, /*without=*/0xC3)).empty())
      << "it lacks the byte";
}

TEST(CommonTokens, DraftsNothingBehindWhatItHolds) {
  OtherPair pair({"a", "b"}, {"b", "a", "ab"}, 3);
  for (const int limit : {1, 2, 3, 4, 5, 9}) {
    SCOPED_TRACE(limit);
    pair.model = Limited(Toy({.vocab_size = 3, .seed = 3}), limit);
    Solo drafter = Asked(pair, Rule());
    // b b ab a: four of its tokens.
    Context context = BeginWith(drafter, {1, 1, 0, 1, 0});
    const TrunkTree tree =
        MustDraft(drafter, *PolicyOf("chain {nodes: 8}"),
                  {.limits = {.max_depth = 8}, .context = context});
    EXPECT_EQ(tree.size() - 1, std::max(0, limit - 3));
    std::mt19937_64 bits(1);
    EndRound(tree, 2, bits, {&drafter}, context);
    MustDraft(drafter, *PolicyOf("chain {nodes: 8}"), {.context = context});
  }
}

TEST(CommonTokens, SequencesTogetherDraftAsEachAlone) {
  const OtherPair pair = Letters();
  const std::unique_ptr<TreePolicy> policy =
      PolicyOf("expansion {branching: [2, 2, 1]}");
  std::vector<std::unique_ptr<Solo>> own;
  std::vector<Solo*> drafters;
  std::vector<Context> contexts;
  const Solo first = Asked(pair, Rule());
  // The third has nothing to say.
  for (const std::vector<TokenId>& prompt :
       {std::vector<TokenId>{0, 1, 1}, {3, 0, 2, 1, 0}, {2}, {1}}) {
    own.push_back(first.Another());
    drafters.push_back(own.back().get());
    contexts.push_back(BeginWith(*own.back(), prompt));
    contexts.back().prompt = static_cast<std::uint32_t>(contexts.size());
  }
  std::mt19937_64 bits(2);
  for (int round = 0; round < 5; ++round) {
    const std::vector<TrunkTree> together =
        DraftTogether(drafters, contexts, *policy);
    for (std::size_t i = 0; i < drafters.size(); ++i) {
      Solo alone = Asked(pair, Rule());
      ASSERT_TRUE(alone.Begin(contexts[i]).ok());
      ExpectSameTree(together[i],
                     DraftTogether({&alone}, {contexts[i]}, *policy).front());
      EndRound(together[i], pair.vocab_size(), bits, {drafters[i]},
               contexts[i]);
    }
  }
}

// However long the text is, a round reads no more than its last tokens.
TEST(CommonTokens, ReadsNoRowOfTheTextTwiceOnceItHasSettled) {
  OtherPair pair({"a", "b", "ab"}, {"b", "a", "ba", "aab"}, 2);
  int rows = 0;
  pair.model =
      std::make_shared<TableModel>(4, [&rows](absl::Span<const TokenId> text) {
        ++rows;
        std::vector<double> masses(4, 0.1);
        masses[text.size() % 4] = 0.7;
        return masses;
      });
  Solo drafter = Asked(pair, Rule());
  Context context = BeginWith(drafter, {0, 1, 1});
  std::mt19937_64 bits(2);
  for (int round = 0; round < 400; ++round) {
    rows = 0;
    const TrunkTree tree = MustDraft(drafter, *PolicyOf("chain {nodes: 3}"),
                                     {.seed = bits(), .context = context});
    EXPECT_LE(rows, 12) << "after " << context.tokens.size() << " tokens";
    EndRound(tree, 3, bits, {&drafter}, context);
  }
  EXPECT_GT(context.tokens.size(), 400);
}

TEST(CommonTokens, RefusesWhatItCannotUse) {
  const auto refusal = [](const std::shared_ptr<const Tokenizer>& target,
                          const std::shared_ptr<const Tokenizer>& own,
                          const std::string& keys) {
    return RefusalBeside(target, own, "common_tokens " + keys);
  };
  const auto ab = ToyTokenizer({"a", "b"});
  EXPECT_EQ(refusal(ab, ToyTokenizer({"x", "b"}), "{model: other}"), "");
  EXPECT_THAT(refusal(ab, ToyTokenizer({"x", "y"}), "{model: other}"),
              HasSubstr("drafter.yaml:1:30: no token of this model is one of "
                        "the target's"));
  EXPECT_THAT(refusal(ab, nullptr, "{model: other}"),
              HasSubstr("the model has no tokenizer.json"));
  EXPECT_THAT(refusal(nullptr, ab, "{model: other}"),
              HasSubstr("the target has no tokenizer.json"));
  EXPECT_THAT(refusal(ab, ab, "{model: none}"),
              HasSubstr("unknown model 'none'"));
  EXPECT_THAT(refusal(ab, ab, "{}"), HasSubstr("missing key 'model'"));
  EXPECT_THAT(refusal(ab, ab, "{model: other, gamma: 2}"),
              HasSubstr("unknown key 'gamma'"));
}

}  // namespace
}  // namespace banyan
