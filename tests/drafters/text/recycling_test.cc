#include "drafters/text/recycling/recycling.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/model/table_model.h"
#include "core/prob/sampling_rule.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/round.h"
#include "decode/sequence.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/drafters/asking.h"
#include "tests/support/decoding.h"
#include "tests/support/dice.h"
#include "tests/support/drafting.h"
#include "tests/support/shared_models.h"
#include "tests/support/solo.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"
#include "tree/paths_json.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kVocab = 8;
constexpr double kNever = -std::numeric_limits<double>::infinity();

using Rows = std::vector<std::vector<double>>;

class GivenScores : public Scores {
 public:
  explicit GivenScores(Rows rows) : rows_(std::move(rows)) {}
  int vocab_size() const override { return kVocab; }
  absl::Status Read(int row, std::vector<double>& logits) const override {
    logits = rows_.at(static_cast<std::size_t>(row));
    return absl::OkStatus();
  }

 private:
  Rows rows_;
};

// A row in which these tokens come first, in this order, and the others after
// them by rising id.
std::vector<double> First(const std::vector<TokenId>& ranked) {
  std::vector<double> logits(kVocab);
  for (std::size_t i = 0; i < logits.size(); ++i)
    logits[i] = -static_cast<double>(i);
  for (std::size_t i = 0; i < ranked.size(); ++i)
    logits[static_cast<std::size_t>(ranked[i])] = 9 - static_cast<double>(i);
  return logits;
}

// A round whose tree was scored so, a row a node.
void Score(Solo& drafter, const std::string& tree, const Rows& rows) {
  const DraftTree scored = ParseTree(tree);
  ASSERT_EQ(rows.size(), static_cast<std::size_t>(scored.size()));
  const GivenScores scores(rows);
  Context context = ContextOf({0});
  context.scored = &scores;
  ASSERT_TRUE(drafter.Observe(context, {scored, Verdict(), 0}).ok());
}

// What is proposed after a token, best first.
std::vector<TokenId> After(Solo& drafter, TokenId token) {
  return Ranked(AtRoot(drafter, ContextOf({token}), DrawKind::kDeterministic));
}

using Table = std::map<TokenId, std::vector<TokenId>>;

Table TableOf(Solo& drafter) {
  Table table;
  for (TokenId token = 0; token < kVocab; ++token)
    if (auto after = After(drafter, token); !after.empty())
      table[token] = after;
  return table;
}

// After the next prompt began.
Table TableOfNext(const Solo& drafter) {
  const auto next = drafter.Another();
  BeginWith(*next, {0});
  return TableOf(*next);
}

TEST(SuccessorTable, KeepsTheLastRowOfEachToken) {
  SuccessorTable table(4, 2);
  EXPECT_THAT(table.After(3), IsEmpty());
  table.Set(3, {1, 0});
  table.Set(0, {3});
  EXPECT_THAT(table.After(3), ElementsAre(1, 0));
  EXPECT_THAT(table.After(0), ElementsAre(3));
  EXPECT_THAT(table.After(1), IsEmpty());
  EXPECT_THAT(table.After(4), IsEmpty());
  EXPECT_THAT(table.After(-1), IsEmpty());
  EXPECT_EQ(table.known(), 2);
  table.Set(3, {2});
  EXPECT_THAT(table.After(3), ElementsAre(2));
  EXPECT_EQ(table.known(), 2);
}

TEST(Recycling, ReadsTheRowsOfAcceptedAndRefusedNodesAndOfTheRoot) {
  const auto drafter = MustAsk("recycling {successors: 3}");
  BeginWith(*drafter, {0});
  EXPECT_THAT(TableOf(*drafter), IsEmpty());
  Score(*drafter, "0(1(2) 3)",
        {First({4, 5, 6, 7}), First({5}), First({6, 1}), First({7})});
  EXPECT_THAT(After(*drafter, 0), ElementsAre(4, 5, 6));
  EXPECT_THAT(After(*drafter, 1), ElementsAre(5, 0, 1));
  EXPECT_THAT(After(*drafter, 2), ElementsAre(6, 1, 0));
  EXPECT_THAT(After(*drafter, 3), ElementsAre(7, 0, 1));
  EXPECT_EQ(TableOf(*drafter).size(), 4U);
}

TEST(Recycling, OfTwoNodesWithOneTokenTheLaterInDepthFirstOrderStays) {
  const auto drafter = MustAsk("recycling {successors: 1}");
  BeginWith(*drafter, {0});
  Score(*drafter, "0(1(2) 2(0))",
        {First({1}), First({2}), First({3}), First({4}), First({5})});
  EXPECT_EQ(TableOf(*drafter), (Table{{0, {5}}, {1, {2}}, {2, {4}}}));
}

TEST(Recycling, LeavesOutWhatCannotFollowAndWhatIsNoText) {
  const auto drafter = MustAsk("recycling");
  BeginWith(*drafter, {0});
  std::vector<double> two(kVocab, kNever);
  two[6] = 1;
  two[2] = -3;
  // The begin token is none of the vocabulary; a probe is a guess.
  Score(*drafter, "8(1 *5)", {First({1}), two, std::vector<double>(kVocab, 0)});
  EXPECT_EQ(TableOf(*drafter), (Table{{1, {6, 2}}}));
  Score(*drafter, "1", {std::vector<double>(kVocab, kNever)});
  EXPECT_EQ(TableOf(*drafter), (Table{{1, {6, 2}}}));
}

TEST(Recycling, HalvesTheScoresAndTakesTheTokenOfTheNode) {
  const auto drafter = MustAsk("recycling {successors: 2}");
  const Context context = BeginWith(*drafter, {3, 0});
  Score(*drafter, "0(1)", {First({1, 2}), First({3, 4})});
  EXPECT_THAT(Masses(AtRoot(*drafter, context, DrawKind::kDeterministic)),
              ElementsAre(0, 0.5, 0.25, 0, 0, 0, 0, 0));
  EXPECT_EQ(ToText(MustDraft(
                *drafter, *PolicyOf("expansion {branching: [2, 2]}"),
                {.draw_kind = DrawKind::kDeterministic, .context = context})),
            "0(1(3 4) 2)");
}

// A tree of up to three levels that draws at random.
DraftTree AnyTree(Dice& dice) {
  const auto drafter = MustBuild("random");
  const TrunkTree grown =
      MustDraft(*drafter, *PolicyOf("expansion {branching: [3, 2, 1]}"),
                {.seed = static_cast<std::uint64_t>(dice.Below(1'000'000)),
                 .context = ContextOf({dice.Below(kVocab)})});
  return ParseTree(ToText(grown));
}

Rows AnyRows(Dice& dice, int count) {
  Rows rows(static_cast<std::size_t>(count), std::vector<double>(kVocab));
  for (std::vector<double>& row : rows)
    for (double& logit : row)
      logit = dice.OneIn(9) ? kNever : dice.Below(5);  // ties too
  return rows;
}

// The rule, read anew: of every node in its order.
void Write(Table& table, const DraftTree& tree, const Rows& rows,
           std::size_t successors) {
  for (int node = 0; node < tree.size(); ++node) {
    const std::vector<double>& row = rows[static_cast<std::size_t>(node)];
    std::vector<std::pair<double, TokenId>> entries;
    for (TokenId token = 0; token < kVocab; ++token)
      if (const double logit = row[static_cast<std::size_t>(token)];
          logit > kNever)
        entries.emplace_back(-logit, token);
    std::sort(entries.begin(), entries.end());
    std::vector<TokenId> ranked;
    for (std::size_t i = 0; i < std::min(successors, entries.size()); ++i)
      ranked.push_back(entries[i].second);
    if (!ranked.empty()) table[tree.node(node).token] = ranked;
  }
}

// A prompt of some rounds; the oracle's table goes along.
void Decode(Solo& drafter, Dice& dice, Table& oracle) {
  BeginWith(drafter, {0});
  EXPECT_EQ(TableOf(drafter), oracle);
  for (int round = dice.Between(1, 5); round > 0; --round) {
    const DraftTree tree = AnyTree(dice);
    const Rows rows = AnyRows(dice, tree.size());
    Score(drafter, ToText(tree), rows);
    Write(oracle, tree, rows, 3);
    EXPECT_EQ(TableOf(drafter), oracle);
  }
}

TEST(Recycling, IsTheTableOfAllRowsReadInTheirOrder) {
  for (const bool warm : {false, true})
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE(seed);
      Dice dice(seed);
      const std::string spec = warm ? "recycling {successors: 3, reset: never}"
                                    : "recycling {successors: 3}";
      const auto drafter = MustAsk(spec);
      const auto restored = MustAsk(spec);  // from what was written down
      Table oracle;
      for (int prompt = 0; prompt < 4; ++prompt) {
        if (!warm) oracle.clear();
        const auto own = drafter->Another();
        Decode(*own, dice, oracle);
        const std::string learnt = own->End();
        EXPECT_EQ(learnt.empty(), !warm);
        if (warm) {
          ASSERT_TRUE(drafter->Absorb({}, learnt).ok());
          ASSERT_TRUE(restored->Absorb({}, learnt).ok());
        }
        EXPECT_EQ(TableOfNext(*drafter), warm ? oracle : Table());
        EXPECT_EQ(TableOfNext(*restored), warm ? oracle : Table());
      }
    }
}

TEST(Recycling, TakesOverTheRowsOfPromptsInTheirOrder) {
  const auto drafter = MustAsk("recycling {successors: 1, reset: never}");
  EXPECT_NE(drafter->drafter().carried(), nullptr);
  const auto first = drafter->Another();
  const auto second = drafter->Another();
  BeginWith(*first, {0});
  BeginWith(*second, {0});
  Score(*second, "1(2)", {First({5}), First({6})});
  Score(*first, "0(1)", {First({3}), First({4})});
  EXPECT_EQ(TableOf(*second), (Table{{1, {5}}, {2, {6}}}))
      << "what another one sees is not seen";
  const std::string of_second = second->End();
  ASSERT_TRUE(drafter->Absorb({}, first->End()).ok());
  EXPECT_EQ(TableOfNext(*drafter), (Table{{0, {3}}, {1, {4}}}));
  ASSERT_TRUE(drafter->Absorb({}, of_second).ok());
  EXPECT_EQ(TableOfNext(*drafter), (Table{{0, {3}}, {1, {5}}, {2, {6}}}));
  ASSERT_EQ(drafter->holdings().size(), 1U);
  EXPECT_EQ(drafter->holdings()[0].unit, "rows");
  EXPECT_EQ(drafter->holdings()[0].held, 3);
  EXPECT_EQ(drafter->holdings()[0].dropped, 0);
}

TEST(Recycling, ForgetsThePromptUnlessItWasTakenOver) {
  for (const char* spec : {"recycling", "recycling {reset: never}"}) {
    const auto drafter = MustAsk(spec);
    BeginWith(*drafter, {0});
    Score(*drafter, "0(1)", {First({3}), First({4})});
    BeginWith(*drafter, {0});
    EXPECT_THAT(TableOf(*drafter), IsEmpty()) << spec;
    EXPECT_EQ(drafter->drafter().carried() != nullptr,
              std::string(spec) != "recycling");
    // What was written before the last prompt is not handed back.
    EXPECT_THAT(drafter->End(), IsEmpty());
  }
}

TEST(Recycling, RefusesBytesThatItNeverWrites) {
  const auto drafter = MustAsk("recycling {successors: 2, reset: never}");
  const auto ended = drafter->Another();
  BeginWith(*ended, {0});
  Score(*ended, "0(1)", {First({3, 0}), First({4, 7})});
  const std::string learnt = ended->End();
  const auto bytes = [](const std::vector<std::uint32_t>& numbers) {
    ByteWriter out;
    for (std::uint32_t number : numbers) out.Put(number);
    return out.Take();
  };
  EXPECT_EQ(learnt, bytes({0, 2, 3, 0, 1, 2, 4, 7}));
  ASSERT_TRUE(drafter->Absorb({}, learnt).ok());
  const Table before = TableOfNext(*drafter);
  std::vector<std::pair<std::string, std::string>> bad = {
      {learnt + "x", "more was expected"},
      {bytes({5, 1, 1, 8, 1, 1}), "row 1 of recycled tokens is of token 8"},
      {bytes({0xFFFFFFFF, 1, 1}), "row 0 of recycled tokens is of token -1"},
      {bytes({5, 1, 1, 5, 1, 1}),
       "row 1 of recycled tokens is of token 5, expected a higher one"},
      {bytes({5}), "row 0 of recycled tokens has 0 successors"},
      {bytes({5, 2, 1}), "has fewer successors than it says"},
      {bytes({5, 0}), "row 0 of recycled tokens has 0 successors"},
      {bytes({5, 3, 1, 2, 3}), "has 3 successors, expected 1 to 2"},
      {bytes({5, 2, 1, 1}), "names token 1, expected another one"},
      {bytes({5, 1, 8}), "names token 8, expected another one"}};
  for (std::size_t size = 1; size < learnt.size(); ++size)
    if (size != learnt.size() / 2) bad.emplace_back(learnt.substr(0, size), "");
  for (const auto& [wrong, message] : bad) {
    const absl::Status status = drafter->Absorb({}, wrong);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << wrong.size();
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
    EXPECT_EQ(TableOfNext(*drafter), before) << "it changes nothing";
  }
  EXPECT_EQ(MustBuild("recycling")->carried(), nullptr)
      << "one that forgets takes over nothing";
}

// Two prompts with one successor of each token: the second one knows them.
TEST(Recycling, IsWarmFromTheSecondPromptOn) {
  std::vector<std::vector<double>> next(kVocab, std::vector<double>(kVocab, 0));
  for (std::size_t token = 0; token < kVocab; ++token)
    next[token][(3 * token + 1) % kVocab] = 1;
  const TableModel target = TableModel::Bigram(next[0], next);
  for (const bool warm : {false, true}) {
    std::vector<Trunk> trunks;
    trunks.push_back(
        TrunkOf(MustBuild(warm ? "recycling {reset: never}" : "recycling"),
                "chain {nodes: 3}", DrawKind::kDeterministic));
    auto decoder = WithTrunks(target, "multi_round", std::move(trunks),
                              {.temperature = 0});
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    std::vector<std::size_t> rounds;
    for (int prompt = 0; prompt < 2; ++prompt)
      rounds.push_back(
          MustDecode(*decoder, {.tokens = {5}}, {.max_new_tokens = 16})
              .rounds.size());
    // 5, 0, 1, 4 are a cycle of four: known after four rounds of one token.
    EXPECT_EQ(rounds[0], 4U + 3U);
    EXPECT_EQ(rounds[1], warm ? 4U : rounds[0]);
  }
}

TEST(Recycling, IsPublishedWithATreeOfEightyNodes) {
  const auto paths =
      ReadPathsFile("configs/tree/token_recycling.json", "2.2.2");
  ASSERT_TRUE(paths.ok()) << paths.status();
  std::array<int, 7> at_depth = {};
  std::set<std::vector<int>> known(paths->begin(), paths->end());
  for (std::vector<int> path : *paths) {
    ++at_depth.at(path.size());
    EXPECT_LT(path.back(), 8);
    path.pop_back();
    EXPECT_TRUE(path.empty() || known.count(path) == 1);
  }
  EXPECT_THAT(at_depth, ElementsAre(0, 8, 21, 25, 15, 8, 3));
}

TEST(Recycling, RefusesWhatCannotBe) {
  EXPECT_THAT(Refusal("recycling {successors: 0}"),
              HasSubstr("'successors' must lie between 1 and 64, found '0'"));
  EXPECT_THAT(Refusal("recycling {successors: 65}"),
              HasSubstr("drafter.yaml:1:"));
  EXPECT_THAT(Refusal("recycling {reset: always}"),
              HasSubstr("'reset' must be prompt or never, found 'always'"));
  EXPECT_THAT(Refusal("recycling {top_k: 8}"), HasSubstr("unknown key"));
  EXPECT_THAT(Refusal("recycling {successors: 64}"), IsEmpty());
  EXPECT_THAT(MustBuild("recycling")->traits().draw_kinds,
              ElementsAre(DrawKind::kDeterministic));
}

}  // namespace
}  // namespace banyan
