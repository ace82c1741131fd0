#include "drafters/target/lookahead/lookahead.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "configs/loader/yaml.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/table_model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "decode/method.h"
#include "decode/round.h"
#include "decode/sequence.h"
#include "drafters/catalogue.h"
#include "drafters/workbench.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/pairing.h"
#include "tests/conformance/toys.h"
#include "tests/drafters/asking.h"
#include "tests/support/decoding.h"
#include "tests/support/dice.h"
#include "tests/support/drafting.h"
#include "tests/support/shared_models.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Grams = std::vector<std::vector<TokenId>>;

std::string Planted(const JacobiWindow& window) {
  TrunkTree tree(0, 0, DrawKind::kDeterministic);
  window.Plant(tree);
  EXPECT_EQ(tree.size() - 1, window.rows());
  return ToText(tree);
}

TEST(JacobiWindow, FillsALevelAPassAndThenMovesOn) {
  JacobiWindow window({.columns = 2, .level = 4});
  window.Begin({7, 1, 2, 3});
  EXPECT_EQ(Planted(window), "0(*1(*2(*3)))");
  EXPECT_THAT(window.Ends(), ElementsAre(-1, 0, 1, 2));
  EXPECT_THAT(window.Advance(9, {10, 11, 12, 13}), IsEmpty());
  EXPECT_EQ(Planted(window), "0(*11 *2(*12 *3(*13)))");
  EXPECT_THAT(window.Ends(), ElementsAre(0, 2, 4));
  EXPECT_THAT(window.Advance(8, {20, 21, 22}), IsEmpty());
  EXPECT_EQ(Planted(window), "0(*12(*21) *3(*13(*22)))");
  EXPECT_THAT(window.Ends(), ElementsAre(1, 4));
  EXPECT_EQ(window.Advance(6, {30, 31}),
            (Grams{{6, 12, 21, 30}, {3, 13, 22, 31}}));
  EXPECT_EQ(Planted(window), "0(*21(*30) *13(*22(*31)))");
}

TEST(JacobiWindow, OfTwoLevelsIsFullFromTheStart) {
  JacobiWindow window({.columns = 3, .level = 2});
  window.Begin({4});
  EXPECT_EQ(Planted(window), "0(*4(*4))");
  EXPECT_EQ(window.Advance(9, {1, 2, 3}), (Grams{{9, 1}, {4, 2}, {4, 3}}));
  EXPECT_EQ(Planted(window), "0(*2(*3))");
}

// The window as published: by level, the first without the root's column.
class ByLevel {
 public:
  ByLevel(const WindowSize& size, absl::Span<const TokenId> text)
      : size_(size) {
    const auto heads = static_cast<std::size_t>(size.columns + size.level - 3);
    std::vector<TokenId> first;
    const std::size_t used = std::min(heads, text.size());
    for (std::size_t i = 0; i < heads; ++i)
      first.push_back(text[text.size() - used + i % used]);
    levels_.push_back(first);
  }

  Grams Advance(TokenId root, const std::vector<TokenId>& said) {
    if (static_cast<int>(levels_.size()) < size_.level - 1) {
      for (auto& level : levels_) level.erase(level.begin());
      levels_.emplace_back(said.begin() + 1, said.end());
      return {};
    }
    Grams grams;
    for (std::size_t i = 0; i < said.size(); ++i) {
      grams.push_back({i == 0 ? root : levels_[0][i - 1]});
      for (std::size_t level = 1; level < levels_.size(); ++level)
        grams.back().push_back(levels_[level][i]);
      grams.back().push_back(said[i]);
    }
    levels_.push_back(said);
    levels_.erase(levels_.begin());
    levels_.front().erase(levels_.front().begin());
    return grams;
  }

 private:
  WindowSize size_;
  Grams levels_;
};

TEST(JacobiWindow, GivesTheGramsOfThePublishedLayout) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Dice dice(seed);
    const WindowSize size = {.columns = dice.Between(2, 6),
                             .level = dice.Between(2, 6)};
    std::vector<TokenId> text;
    for (int i = dice.Between(1, 12); i > 0; --i)
      text.push_back(dice.Below(50));
    JacobiWindow window(size);
    window.Begin(text);
    ByLevel published(size, text);
    for (int pass = 0; pass < 20; ++pass) {
      EXPECT_LE(window.rows(), size.MostRows());
      std::vector<TokenId> said;
      for (std::size_t i = window.Ends().size(); i > 0; --i)
        said.push_back(dice.Below(50));
      const TokenId root = dice.Below(50);
      const Grams grams = window.Advance(root, said);
      ASSERT_EQ(grams, published.Advance(root, said))
          << "seed " << seed << ", pass " << pass;
      compared += static_cast<int>(grams.size());
    }
  }
  EXPECT_GT(compared, 1000);
}

TEST(JacobiWindow, ReachesAsDeepAndHasAsManyRowsAsItsSizeSays) {
  for (int columns = 1; columns < 7; ++columns)
    for (int level = 2; level < 8; ++level) {
      const WindowSize size = {.columns = columns, .level = level};
      JacobiWindow window(size);
      window.Begin({1, 2});
      int most = 0;
      for (int pass = 0; pass < level; ++pass) {
        TrunkTree tree(0, 0, DrawKind::kDeterministic);
        window.Plant(tree);
        int depth = 0;
        for (int node = 0; node < tree.size(); ++node)
          depth = std::max(depth, tree.node(node).depth);
        EXPECT_EQ(depth, size.Depth());
        most = std::max(most, window.rows());
        window.Advance(0, std::vector<TokenId>(window.Ends().size(), 3));
      }
      EXPECT_EQ(most, size.MostRows()) << columns << " " << level;
    }
}

TEST(GramPool, KeepsTheNewestDistinctGramsOfAToken) {
  GramPool pool(2);
  pool.Add({1, 2, 3});
  pool.Add({1, 4, 5});
  pool.Add({2, 9, 9});
  EXPECT_THAT(pool.After(1, {}), ElementsAre(4, 2));
  pool.Add({1, 2, 3});  // is there, and becomes the newest
  EXPECT_THAT(pool.After(1, {}), ElementsAre(2, 4));
  pool.Add({1, 2, 6});  // the oldest goes
  EXPECT_THAT(pool.After(1, {}), ElementsAre(2));
  EXPECT_THAT(pool.After(1, {2}), ElementsAre(6, 3));
  EXPECT_THAT(pool.After(1, {4}), IsEmpty());
  EXPECT_THAT(pool.After(1, {2, 6}), IsEmpty()) << "a gram has an end";
  EXPECT_THAT(pool.After(7, {}), IsEmpty());
}

TEST(Lookahead, DraftsTheGramsThatBeginWithTheRoot) {
  const auto drafter = MustAsk(
      "lookahead {level: 3, window: 2, guesses: 2, pool_from_prompt: true}");
  const Context context = BeginWith(*drafter, {1, 2, 3, 1, 2, 4, 1, 5, 6, 1});
  // After 1 came "2 3", which was pushed out, "2 4" and "5 6".
  EXPECT_EQ(ToText(MustDraft(
                *drafter, *PolicyOf("best_first {most_draws: 8}"),
                {.draw_kind = DrawKind::kDeterministic, .context = context})),
            "1(5(6) 2(4))");
}

TEST(Lookahead, WithoutThePromptsGramsBeginsWithNone) {
  const auto drafter = MustAsk("lookahead");
  const Context context = BeginWith(*drafter, {1, 2, 3, 1, 2, 4, 1});
  EXPECT_TRUE(AtRoot(*drafter, context, DrawKind::kDeterministic).empty());
}

TEST(Lookahead, PlantsNothingWhereTheWindowHasNoRoom) {
  const auto drafter = MustAsk("lookahead {level: 3, window: 4}");
  const Context context = BeginWith(*drafter, {1, 2});
  for (const auto& [room, rows] : {std::pair{4, 4}, std::pair{3, 0}}) {
    TrunkTree tree(2, 0, DrawKind::kDeterministic);
    PlantProbes(*drafter, context, room, tree);
    EXPECT_EQ(tree.size() - 1, rows) << room;
  }
  EXPECT_EQ(drafter->traits().probes, 7);
}

// Every place of the text is guessed ahead by a target that counts.
TEST(Lookahead, LearnsWhatTheTargetSaysInItsOwnPasses) {
  std::vector<std::vector<double>> next(8, std::vector<double>(8, 0.01));
  for (std::size_t token = 0; token < 8; ++token) {
    next[token][(3 * token + 1) % 8] = 0.93;
  }
  const TableModel target = TableModel::Bigram(next[0], next);
  std::vector<Trunk> trunks;
  trunks.push_back(TrunkOf(MustBuild("lookahead"), "best_first {most_draws: 8}",
                           DrawKind::kDeterministic));
  auto decoder =
      WithTrunks(target, "multi_round", std::move(trunks), {.temperature = 0});
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  const Prompt prompt = {.tokens = {8, 5, 2}};
  const StopRule stop = {.max_new_tokens = 60};
  const Decoded decoded = MustDecode(*decoder, prompt, stop);
  EXPECT_EQ(decoded.tokens,
            MustDecodePlainly(target, SamplingRule({.temperature = 0}), prompt,
                              stop));
  // Four passes fill the window and the pool; then five tokens per pass.
  EXPECT_LE(decoded.rounds.size(), 20U);
  const DraftTree& first = decoded.rounds.front().tree;
  EXPECT_EQ(first.Drafted(), 0);
  EXPECT_EQ(first.size(), 1 + 9) << ToText(first);
  const DraftTree& last = decoded.rounds[decoded.rounds.size() - 2].tree;
  EXPECT_EQ(last.size() - 1 - last.Drafted(), 7 * 4 - 1) << ToText(last);
}

TEST(Lookahead, BeginForgetsThePreviousPrompt) {
  const auto drafter = MustAsk("lookahead {pool_from_prompt: true}");
  BeginWith(*drafter, {1, 2, 3, 4, 5, 1});
  EXPECT_TRUE(
      AtRoot(*drafter, BeginWith(*drafter, {1}), DrawKind::kDeterministic)
          .empty());
  EXPECT_EQ(drafter->drafter().carried(), nullptr);
}

TEST(Lookahead, RefusesWhatCannotBe) {
  EXPECT_THAT(Refusal("lookahead {level: 1}"), HasSubstr("drafter.yaml:1:"));
  EXPECT_THAT(Refusal("lookahead {level: 1}"),
              HasSubstr("'level' must lie between 2 and 4096, found '1'"));
  EXPECT_THAT(Refusal("lookahead {window: 0}"),
              HasSubstr("'window' must lie between 1 and 4096, found '0'"));
  EXPECT_THAT(Refusal("lookahead {window: 2000, level: 9}"),
              HasSubstr("must not take more than 4096 rows of a pass; with "
                        "level 9 it takes 15999"));
  EXPECT_THAT(Refusal("lookahead {guesses: 65}"),
              HasSubstr("'guesses' must lie between 1 and 64, found '65'"));
  EXPECT_THAT(Refusal("lookahead {width: 3}"),
              HasSubstr("unknown key 'width'"));
  EXPECT_THAT(Refusal("lookahead {level: 2, window: 1}"), IsEmpty());
}

TEST(Lookahead, RefusesAWindowLongerThanTheContext) {
  Workbench bench(Limited(Toy({.vocab_size = 3}), 12), SamplingRule(),
                  std::make_shared<Assets>());
  const auto refusal = [&](const std::string& spec) {
    const auto section = ParseYaml(Section(spec), "method.yaml");
    return std::string(BuildDrafter(*section, bench).status().message());
  };
  EXPECT_THAT(refusal("lookahead {window: 9, level: 5}"), IsEmpty());
  EXPECT_THAT(refusal("lookahead {window: 10, level: 5}"),
              HasSubstr("method.yaml:1:"));
  EXPECT_THAT(refusal("lookahead {window: 10, level: 5}"),
              HasSubstr("must leave room for the text: with level 5 it reaches "
                        "12 tokens ahead, and the target's context is 12"));
}

}  // namespace
}  // namespace banyan
