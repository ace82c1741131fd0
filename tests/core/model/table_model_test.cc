#include "core/model/table_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "tests/support/must_read.h"

namespace banyan {
namespace {

using testing::ElementsAre;

using Tokens = std::vector<TokenId>;
using Row = std::vector<double>;

constexpr int kVocab = 4;
constexpr TokenId kBegin = kVocab;
constexpr int kCommitted = TokenBatch::kCommitted;

// A distribution that depends on every token of the text and on their order,
// with a 0.
Row LawOf(absl::Span<const TokenId> text) {
  std::uint32_t hash = 17;
  for (TokenId token : text)
    hash = hash * 31 + static_cast<std::uint32_t>(token);
  Row masses(kVocab);
  double total = 0;
  for (int i = 0; i < kVocab; ++i) total += masses[i] = (hash >> (3 * i)) % 7;
  if (total == 0) total = masses[0] = 1;
  for (double& mass : masses) mass /= total;
  return masses;
}

TableModel Model(int context_limit = 1 << 20) {
  return TableModel(kVocab, LawOf, context_limit);
}

// A session of `model` with the begin token and `tokens` committed.
std::unique_ptr<Session> Started(const TableModel& model,
                                 const Tokens& tokens = {}) {
  std::unique_ptr<Session> session = model.NewSession();
  Tokens text = {kBegin};
  text.insert(text.end(), tokens.begin(), tokens.end());
  const absl::Status status = session->Prefill(text);
  EXPECT_TRUE(status.ok()) << status;
  return session;
}

Row MassesAt(const Scores& scores, int row) {
  Row logits = {99};  // what was there is replaced
  EXPECT_TRUE(scores.Read(row, logits).ok());
  for (double& logit : logits) logit = std::exp(logit);
  return logits;
}

// A logit of magnitude L makes exp() err by L roundings; masses here are over
// 0.04, so |L| < 4.
void ExpectRow(const Scores& scores, int row, const Tokens& after) {
  Tokens text = {kBegin};
  text.insert(text.end(), after.begin(), after.end());
  const Row expected = LawOf(text), masses = MassesAt(scores, row);
  ASSERT_EQ(masses.size(), expected.size());
  for (int token = 0; token < kVocab; ++token)
    EXPECT_NEAR(masses[token], expected[token], 1e-15)
        << "row " << row << ", token " << token;
}

// Scores that must succeed.
std::unique_ptr<Scores> Score(const TableModel& model, Session& session,
                              const TokenBatch& batch) {
  absl::StatusOr<std::unique_ptr<Scores>> scores =
      ScoreOne(model, session, batch);
  EXPECT_TRUE(scores.ok()) << scores.status();
  return scores.ok() ? *std::move(scores) : nullptr;
}

// Two tokens after the prefix 'begin, 1', of which the first has two children.
TokenBatch SmallTree() {
  return {.tokens = {0, 3, 2, 1},
          .positions = {2, 2, 3, 3},
          .parents = {kCommitted, kCommitted, 0, 0}};
}

// ---- Rows

TEST(TableModel, SaysItsSizes) {
  const TableModel model = Model(9);
  EXPECT_EQ(model.vocab_size(), kVocab);
  EXPECT_EQ(model.context_limit(), 9);
  EXPECT_EQ(model.begin(), kBegin);
  const std::unique_ptr<Session> session = model.NewSession();
  EXPECT_EQ(session->length(), 0);
  EXPECT_EQ(session->pending(), 0);
}

TEST(TableModel, GivesTheTablesRowAfterEachTokensOwnAncestors) {
  const TableModel model = Model();
  const auto session = Started(model, {1});
  const auto scores = Score(model, *session, SmallTree());
  ExpectRow(*scores, 0, {1, 0});
  ExpectRow(*scores, 1, {1, 3});
  ExpectRow(*scores, 2, {1, 0, 2});
  ExpectRow(*scores, 3, {1, 0, 1});
}

TEST(TableModel, ScoresTheBeginTokenOfAnEmptySession) {
  const TableModel model = Model();
  const auto session = model.NewSession();
  const auto scores = Score(
      model, *session,
      {.tokens = {kBegin, 2}, .positions = {0, 1}, .parents = {kCommitted, 0}});
  ExpectRow(*scores, 0, {});
  ExpectRow(*scores, 1, {2});
}

TEST(TableModel, GivesTheLogarithmsOfTheMassesAndMinusInfinityForNone) {
  const TableModel model = TableModel::Bigram(
      {0.5, 0.25, 0.25}, {{0, 1, 0}, {0.25, 0.25, 0.5}, {1, 0, 0}});
  const auto session = model.NewSession();
  const auto scores = Score(model, *session,
                            {.tokens = {model.begin(), 0, 1},
                             .positions = {0, 1, 2},
                             .parents = {kCommitted, 0, 1}});
  const double none = -std::numeric_limits<double>::infinity();
  const double half = std::log(0.5), quarter = std::log(0.25);
  EXPECT_THAT(MustRead(*scores, 0), ElementsAre(half, quarter, quarter));
  EXPECT_THAT(MustRead(*scores, 1), ElementsAre(none, 0, none));
  EXPECT_THAT(MustRead(*scores, 2), ElementsAre(quarter, quarter, half));
}

// ---- Pending rows

TEST(TableModel, ScoringCommitsNothing) {
  const TableModel model = Model();
  const auto session = Started(model, {1});
  Score(model, *session, SmallTree());
  EXPECT_EQ(session->length(), 2);
  EXPECT_EQ(session->pending(), 4);
}

TEST(TableModel, HangsASecondBatchBelowTheFirst) {
  const TableModel model = Model();
  const auto session = Started(model, {1});
  const auto first = Score(model, *session, SmallTree());
  const auto second = Score(model, *session,
                            {.tokens = {3, 0, 2},
                             .positions = {4, 5, 2},
                             .parents = {3, 4, kCommitted}});
  EXPECT_EQ(session->pending(), 7);
  ExpectRow(*second, 0, {1, 0, 1, 3});
  ExpectRow(*second, 1, {1, 0, 1, 3, 0});
  ExpectRow(*second, 2, {1, 2});
  ExpectRow(*first, 2, {1, 0, 2});
}

TEST(TableModel, CommitsOnePathAndDropsTheRest) {
  const TableModel model = Model();
  const auto session = Started(model, {1});
  Score(model, *session, SmallTree());
  Score(model, *session, {.tokens = {3}, .positions = {4}, .parents = {3}});
  ASSERT_TRUE(session->Commit({0, 3, 4}).ok());
  EXPECT_EQ(session->length(), 5);
  EXPECT_EQ(session->pending(), 0);
  const auto scores =
      Score(model, *session,
            {.tokens = {2}, .positions = {5}, .parents = {kCommitted}});
  ExpectRow(*scores, 0, {1, 0, 1, 3, 2});
  EXPECT_EQ(session->pending(), 1);
}

TEST(TableModel, CommitsTheBeginningOfAPath) {
  const TableModel model = Model();
  const auto session = Started(model, {1});
  Score(model, *session, SmallTree());
  ASSERT_TRUE(session->Commit({1}).ok());
  EXPECT_EQ(session->length(), 3);
  const auto scores =
      Score(model, *session,
            {.tokens = {2}, .positions = {3}, .parents = {kCommitted}});
  ExpectRow(*scores, 0, {1, 3, 2});
}

TEST(TableModel, DropsEveryPendingRowOnAnEmptyCommit) {
  const TableModel model = Model();
  const auto session = Started(model, {1});
  Score(model, *session, SmallTree());
  ASSERT_TRUE(session->Commit({}).ok());
  EXPECT_EQ(session->length(), 2);
  EXPECT_EQ(session->pending(), 0);
  ASSERT_TRUE(session->Prefill(std::vector<TokenId>{2}).ok());
  EXPECT_EQ(session->length(), 3);
}

// ---- What is refused

struct BadBatch {
  std::string what;
  TokenBatch batch;
};

// Each is wrong in its last row alone; the session holds 'begin, 1'.
std::vector<BadBatch> BadBatches() {
  const int out = kCommitted;
  return {
      {"a token above the vocabulary", {{0, kVocab + 1}, {2, 3}, {out, 0}}},
      {"a negative token", {{0, -1}, {2, 3}, {out, 0}}},
      {"a begin token after the start", {{0, kBegin}, {2, 3}, {out, 0}}},
      {"a parent that comes later", {{0, 1}, {2, 3}, {out, 2}}},
      {"a row that is its own parent", {{0, 1}, {2, 3}, {out, 1}}},
      {"a parent below kCommitted", {{0, 1}, {2, 2}, {out, -2}}},
      {"a position below its depth", {{0, 1}, {2, 2}, {out, 0}}},
      {"a position above its depth", {{0, 1}, {2, 4}, {out, 0}}},
      {"a position before the prefix's end", {{0, 1}, {2, 1}, {out, out}}},
      {"too few positions", {{0, 1}, {2}, {out, 0}}},
      {"too few parents", {{0, 1}, {2, 3}, {out}}},
  };
}

TEST(TableModel, RefusesABadBatchAndLeavesTheSessionAsItWas) {
  const TableModel model = Model();
  for (const BadBatch& bad : BadBatches()) {
    SCOPED_TRACE(bad.what);
    const auto session = Started(model, {1});
    const auto refused = ScoreOne(model, *session, bad.batch);
    EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << refused.status();
    EXPECT_EQ(session->length(), 2);
    EXPECT_EQ(session->pending(), 0);
    const auto scores = Score(model, *session, SmallTree());
    ExpectRow(*scores, 3, {1, 0, 1});
    TokenBatch second = bad.batch;
    for (int& parent : second.parents)
      if (parent >= 0) parent += 4;
    EXPECT_FALSE(ScoreOne(model, *session, second).ok());
    EXPECT_EQ(session->length(), 2);
    EXPECT_EQ(session->pending(), 4);
  }
}

TEST(TableModel, AllowsPositionsUpToTheContextLimitAndNoFurther) {
  const TableModel model = Model(4);
  const auto session = Started(model, {1});
  const TokenBatch fits = {{0, 3, 2}, {2, 3, 3}, {kCommitted, 0, 0}};
  const TokenBatch deep = {{0, 3, 2}, {2, 3, 4}, {kCommitted, 0, 1}};
  EXPECT_FALSE(ScoreOne(model, *session, deep).ok());
  EXPECT_EQ(session->pending(), 0);
  Score(model, *session, fits);
  EXPECT_EQ(session->pending(), 3);
  EXPECT_FALSE(ScoreOne(model, *session, {{1}, {4}, {2}}).ok());
  EXPECT_EQ(session->pending(), 3);
}

TEST(TableModel, RefusesAPrefillPastTheContextLimit) {
  const TableModel model = Model(4);
  const auto session = Started(model, {1});
  EXPECT_FALSE(session->Prefill({{0, 1, 2}}).ok());
  EXPECT_EQ(session->length(), 2);
  EXPECT_TRUE(session->Prefill({{0, 1}}).ok());
  EXPECT_EQ(session->length(), 4);
}

TEST(TableModel, RefusesAPrefillOfABadToken) {
  const TableModel model = Model();
  const auto session = Started(model, {1});
  for (TokenId bad : {-1, kVocab + 1, static_cast<int>(kBegin)}) {
    EXPECT_TRUE(absl::IsInvalidArgument(session->Prefill({{0, bad}}))) << bad;
    EXPECT_EQ(session->length(), 2);
  }
}

TEST(TableModel, RefusesAPrefillWhileRowsArePending) {
  const TableModel model = Model();
  const auto session = Started(model, {1});
  Score(model, *session, SmallTree());
  EXPECT_FALSE(session->Prefill(std::vector<TokenId>{0}).ok());
  EXPECT_EQ(session->length(), 2);
  EXPECT_EQ(session->pending(), 4);
}

TEST(TableModel, RefusesToCommitWhatIsNoChainFromThePrefix) {
  const TableModel model = Model();
  const auto session = Started(model, {1});
  const auto scores = Score(model, *session, SmallTree());
  for (const std::vector<int>& path : std::vector<std::vector<int>>{
           {4}, {-1}, {2}, {1, 2}, {0, 1}, {0, 0}, {0, 3, 2}, {0, 4}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(session->Commit(path)))
        << testing::PrintToString(path);
    EXPECT_EQ(session->length(), 2);
    EXPECT_EQ(session->pending(), 4);
  }
  ExpectRow(*scores, 3, {1, 0, 1});
  EXPECT_TRUE(session->Commit({0, 3}).ok());
}

// ---- Several sessions

TEST(TableModel, ScoresSeveralSessionsAsIfEachWereAlone) {
  const TableModel model = Model();
  const std::vector<Tokens> prefixes = {{1}, {3, 2}, {0, 0, 0}};
  const std::vector<TokenBatch> batches = {
      SmallTree(),
      {{2, 1}, {3, 4}, {kCommitted, 0}},
      {{3, 3}, {4, 4}, {kCommitted, kCommitted}}};
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<ScoreRequest> requests;
  for (int i = 0; i < 3; ++i) {
    sessions.push_back(Started(model, prefixes[i]));
    requests.push_back({sessions[i].get(), &batches[i]});
  }
  const auto together = model.Score(requests);
  ASSERT_TRUE(together.ok()) << together.status();
  ASSERT_EQ(together->size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(sessions[i]->pending(), batches[i].size());
    const auto session = Started(model, prefixes[i]);
    const auto alone = Score(model, *session, batches[i]);
    for (int row = 0; row < batches[i].size(); ++row) {
      EXPECT_EQ(MustRead(*(*together)[i], row), MustRead(*alone, row))
          << "session " << i << ", row " << row;
    }
  }
}

TEST(TableModel, FailsAsAWholeIfOneOfSeveralBatchesIsBad) {
  const TableModel model = Model();
  const auto good = Started(model, {1}), bad = Started(model, {1});
  const TokenBatch batch = SmallTree(), wrong = BadBatches().front().batch;
  EXPECT_FALSE(model.Score({{good.get(), &batch}, {bad.get(), &wrong}}).ok());
  EXPECT_EQ(good->pending(), 0);
  EXPECT_EQ(bad->pending(), 0);
}

TEST(TableModel, ScoresNothingForNoRequests) {
  const auto scores = Model().Score({});
  ASSERT_TRUE(scores.ok());
  EXPECT_TRUE(scores->empty());
}

TEST(TableModel, SessionsOfOneModelShareNothing) {
  const TableModel model = Model();
  const auto one = Started(model, {1}), two = Started(model, {2});
  Score(model, *one, SmallTree());
  EXPECT_EQ(two->pending(), 0);
  ASSERT_TRUE(one->Commit({0}).ok());
  EXPECT_EQ(two->length(), 2);
  const auto scores = Score(model, *two, {{3}, {2}, {kCommitted}});
  ExpectRow(*scores, 0, {2, 3});
}

}  // namespace
}  // namespace banyan
