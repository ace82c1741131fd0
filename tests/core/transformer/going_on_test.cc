// Passes that go on from what a view of the first layers has computed, and
// views that run single blocks, other weights, or see a part of the text.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/model/session_state.h"
#include "core/ops/backend.h"
#include "core/ops/weight.h"
#include "core/transformer/transformer.h"
#include "tests/core/transformer/made_model.h"
#include "tests/core/transformer/walk.h"
#include "tests/support/dice.h"
#include "tests/support/host_part.h"
#include "tests/support/made/golden_model.h"
#include "tests/support/must_read.h"

namespace banyan {
namespace {

std::vector<int> UpTo(int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

ViewOptions FirstLayers(int count) {
  ViewOptions options = ViewOptions::Layers(UpTo(count));
  options.keeps_rows = true;
  return options;
}

// Some rows of a batch, each with its parent: a batch of their own, and for
// every row of the first which of these it is.
struct Part {
  TokenBatch batch;
  std::vector<int> rows;
};
Part PartOf(const TokenBatch& whole, Dice& dice) {
  Part part;
  for (int i = 0; i < whole.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const int parent = whole.parents[at];
    const int above =
        parent < 0 ? parent : part.rows[static_cast<std::size_t>(parent)];
    const bool taken = (parent < 0 || above >= 0) && !dice.OneIn(3);
    part.rows.push_back(taken ? part.batch.size() : -1);
    if (taken) part.batch.Add(whole.tokens[at], whole.positions[at], above);
  }
  return part;
}

// At least one of them.
Part SomeOf(const TokenBatch& whole, Dice& dice) {
  Part part;
  while (part.batch.size() == 0) part = PartOf(whole, dice);
  return part;
}

class GoingOn : public testing::TestWithParam<GoldenOnDevice> {
 protected:
  void SetUp() override {
    if (GetParam().LeftOut()) GTEST_SKIP() << kHostLeftOut;
  }
  const std::shared_ptr<Backend> backend_ = BackendOf(GetParam().device);
};

// Rounds on one session; what is committed was partly computed by views.
TEST_P(GoingOn, GivesThePassItself) {
  for (WeightFormat format : {WeightFormat::kF32, WeightFormat::kQ8}) {
    const auto model = LoadGolden(GetParam().golden, backend_, format);
    Oracle oracle(*model);
    Dice dice(1);
    Walk walk(*model);
    walk.Prefill(RandomText(*model, 5, dice));
    const auto view = MustView(walk.session(), FirstLayers(1));
    int gone_on = 0;
    for (int round = 0; round < 8; ++round) {
      ASSERT_TRUE(view->Commit({}).ok());
      const TokenBatch tree = walk.RandomBatch(7, dice);
      const Part part = PartOf(tree, dice);
      const ScoreRequest first = {.session = view.get(), .batch = &part.batch};
      if (part.batch.size() > 0) LogitsOf(*model, first);
      const ScoreRequest whole = {
          .session = &walk.session(),
          .batch = &tree,
          .taps = {kAfterFinalNorm, 1},
          .done = {part.batch.size() > 0 ? view.get() : nullptr, part.rows}};
      const auto scores = model->Score({&whole, 1});
      ASSERT_TRUE(scores.ok()) << scores.status();
      gone_on += part.batch.size();
      walk.Note(tree);
      ExpectFaithful(*scores->front(), 0, 7, walk, oracle, GetParam().ToText());
      walk.Commit(walk.RandomPath(dice));
    }
    EXPECT_GT(gone_on, 8);
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoingOn, testing::ValuesIn(GoldensOnDevices()),
                         [](const auto& row) { return row.param.ToText(); });

class Parts : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "emulated_gpu" && LeftOutOnHost("made"))
      GTEST_SKIP() << kHostLeftOut;
  }
  std::unique_ptr<Transformer> Load(WeightFormat format = WeightFormat::kF32) {
    return made_.Load(backend_, format);
  }

  const std::shared_ptr<Backend> backend_ = BackendOf(GetParam());
  const MadeModel made_{{.layers = {0, 1, 2}}};
};

// From exit to exit to the whole, several sequences in each pass.
TEST_P(Parts, GoOnFromExitToExitInCompany) {
  const auto model = Load();
  Dice dice(2);
  Walk walks[2] = {Walk(*model), Walk(*model)};
  Walk alone[2] = {Walk(*model), Walk(*model)};
  std::vector<std::unique_ptr<Session>> early, late;
  for (int i = 0; i < 2; ++i) {
    const auto text = RandomText(*model, 6 + 7 * i, dice);
    walks[i].Prefill(text);
    alone[i].Prefill(text);
    early.push_back(MustView(walks[i].session(), FirstLayers(1)));
    late.push_back(MustView(walks[i].session(), FirstLayers(2)));
  }
  for (int round = 0; round < 10; ++round) {
    for (const auto& view : {&early, &late})
      for (const auto& own : *view) ASSERT_TRUE(own->Commit({}).ok());
    std::vector<TokenBatch> trees;
    std::vector<Part> some, fewer;
    for (Walk& walk : walks) {
      trees.push_back(walk.RandomBatch(6, dice));
      trees.back().parents.front() = TokenBatch::kCommitted;
      some.push_back(SomeOf(trees.back(), dice));
      fewer.push_back(SomeOf(some.back().batch, dice));
    }
    std::vector<ScoreRequest> first, second, third;
    for (int i = 0; i < 2; ++i) {
      const auto at = static_cast<std::size_t>(i);
      first.push_back({.session = early[at].get(), .batch = &fewer[at].batch});
      second.push_back({.session = late[at].get(),
                        .batch = &some[at].batch,
                        .done = {early[at].get(), fewer[at].rows}});
      third.push_back({.session = &walks[i].session(),
                       .batch = &trees[at],
                       .done = {late[at].get(), some[at].rows}});
    }
    ASSERT_TRUE(model->Score(first).ok());
    const auto middle = model->Score(second);
    ASSERT_TRUE(middle.ok()) << middle.status();
    const auto scores = model->Score(third);
    ASSERT_TRUE(scores.ok()) << scores.status();
    for (int i = 0; i < 2; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const auto view = MustView(alone[i].session(), FirstLayers(2));
      const auto expected_middle =
          LogitsOf(*model, {.session = view.get(), .batch = &some[at].batch});
      const auto expected = alone[i].Score(trees[at]);
      for (int row = 0; row < some[at].batch.size(); ++row)
        EXPECT_TRUE(SameBits(MustRead(*(*middle)[at], row),
                             expected_middle[static_cast<std::size_t>(row)]));
      for (int row = 0; row < trees[at].size(); ++row)
        EXPECT_TRUE(
            SameBits(MustRead(*(*scores)[at], row), MustRead(*expected, row)));
      walks[i].Note(trees[at]);
      const std::vector<int> path = walks[i].RandomPath(dice);
      walks[i].Commit(path);
      alone[i].Commit(path);
    }
  }
}

TEST_P(Parts, RefuseToGoOnFromOtherRows) {
  const auto model = Load();
  Dice dice(3);
  Walk walk(*model);
  Walk other(*model);
  walk.Prefill(RandomText(*model, 6, dice));
  other.Prefill(RandomText(*model, 6, dice));
  const TokenBatch tree = ChainAfter(walk.session(), {1, 2, 3});
  const TokenBatch turned = ChainAfter(walk.session(), {1, 3, 2});
  const auto view = MustView(walk.session(), FirstLayers(2));
  const auto forgets = MustView(walk.session(), ViewOptions::Layers(UpTo(2)));
  const auto foreign = MustView(other.session(), FirstLayers(2));
  ViewOptions later = ViewOptions::Layers({1, 2});
  later.keeps_rows = true;
  const auto last = MustView(walk.session(), later);
  ViewOptions half = FirstLayers(2);
  half.feed_forward = {0};
  const auto blocks = MustView(walk.session(), half);
  for (Session* session :
       {view.get(), forgets.get(), foreign.get(), last.get(), blocks.get()})
    LogitsOf(*model, {.session = session, .batch = &tree});
  const auto refused = [&](Session* from, const TokenBatch& batch,
                           std::vector<int> rows) {
    const ScoreRequest request = {
        .session = &walk.session(), .batch = &batch, .done = {from, rows}};
    return model->Score({&request, 1}).status().code() ==
           absl::StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused(forgets.get(), tree, {0, 1, 2}));
  EXPECT_TRUE(refused(foreign.get(), tree, {0, 1, 2}));
  EXPECT_TRUE(refused(last.get(), tree, {0, 1, 2}));
  EXPECT_TRUE(refused(blocks.get(), tree, {0, 1, 2}));
  EXPECT_TRUE(refused(&walk.session(), tree, {0, 1, 2}));
  EXPECT_TRUE(refused(view.get(), tree, {0, 1}));
  EXPECT_TRUE(refused(view.get(), tree, {0, 1, 3}));
  EXPECT_TRUE(refused(view.get(), tree, {0, 2, 1}));
  EXPECT_TRUE(refused(view.get(), turned, {0, 1, 2}));
  EXPECT_EQ(walk.session().pending(), 0);
  EXPECT_FALSE(refused(view.get(), turned, {0, -1, -1}));
}

// A block that is left out adds nothing; that of a made model's that is run
// alone is told from the whole layer.
TEST_P(Parts, RunSingleBlocks) {
  const auto model = Load();
  Dice dice(4);
  Walk walk(*model);
  walk.Prefill(RandomText(*model, 30, dice));
  const TokenBatch tree = walk.RandomBatch(6, dice);
  const auto logits = [&](std::vector<int> attention,
                          std::vector<int> feed_forward) {
    ViewOptions options;
    options.attention = attention;
    options.feed_forward = feed_forward;
    const auto view = MustView(walk.session(), options);
    return LogitsOf(*model, {.session = view.get(), .batch = &tree});
  };
  const auto whole = logits({0, 1, 2}, {0, 1, 2});
  std::vector<std::vector<Logits>> all = {whole,
                                          logits({0, 2}, {0, 1, 2}),
                                          logits({0, 1, 2}, {0, 2}),
                                          logits({0, 2}, {0, 2}),
                                          logits({0}, {2}),
                                          logits({}, {1})};
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      EXPECT_FALSE(SameBits(all[a].front(), all[b].front())) << a << b;
  ExpectSame(whole,
             LogitsOf(*model, {.session = &walk.session(), .batch = &tree}));
  // Without attention a row knows nothing of the text.
  const auto without = logits({}, {0, 1, 2});
  Walk empty(*model);
  TokenBatch lone;
  lone.Add(tree.tokens[0], 0, TokenBatch::kCommitted);
  ViewOptions options;
  options.feed_forward = {0, 1, 2};
  const auto view = MustView(empty.session(), options);
  EXPECT_TRUE(SameBits(
      without.front(),
      LogitsOf(*model, {.session = view.get(), .batch = &lone}).front()));
}

// With the weights of another format a view of all layers over a text is a
// model of that format which read it with ours: on an empty text it is that
// model.
TEST_P(Parts, RunWithWeightsOfAnotherFormat) {
  const std::shared_ptr<const Transformer> q8 = Load(WeightFormat::kQ8);
  const auto model = Load();
  const MadeModel other({.layers = {0, 1}});
  const std::shared_ptr<const Transformer> shallow = other.Load(backend_);
  Dice dice(5);
  Walk walk(*model);
  Walk own(*q8);
  ViewOptions options = ViewOptions::Layers(UpTo(3));
  options.weights = q8;
  const auto view = MustView(walk.session(), options);
  const TokenBatch tree = own.RandomBatch(7, dice);
  const auto got = LogitsOf(*q8, {.session = view.get(), .batch = &tree});
  ExpectSame(got, LogitsOf(*q8, {.session = &own.session(), .batch = &tree}));
  EXPECT_FALSE(SameBits(
      got.front(),
      LogitsOf(*model, {.session = &walk.session(), .batch = &tree}).front()));
  walk.Note(tree);
  walk.Commit({0});
  EXPECT_EQ(view->length(), 1);
  // Asked of the model it is a view of, it is not one of its sessions.
  const TokenBatch next = ChainAfter(*view, {3});
  const ScoreRequest asked = {.session = view.get(), .batch = &next};
  EXPECT_FALSE(model->Score({&asked, 1}).ok());
  options.weights = shallow;
  EXPECT_EQ(walk.session().View(options).status().code(),
            absl::StatusCode::kInvalidArgument);
  options.weights = made_.Load(BackendOf(GetParam()));
  EXPECT_EQ(walk.session().View(options).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// The logits of a view after each round are those of one that was just made,
// however the text grew.
TEST_P(Parts, SeeTheSameWheneverTheyWereMade) {
  const auto model = Load();
  for (const SeenText& seen :
       {SeenText{.first = 3, .latest = 8}, SeenText{.first = 0, .latest = 1},
        SeenText{.first = 4, .latest = 20}, SeenText{.latest = 1000}}) {
    Dice dice(6);
    Walk walk(*model);
    ViewOptions options = ViewOptions::Layers(UpTo(3));
    options.seen = seen;
    const auto view = MustView(walk.session(), options);
    for (int round = 0; round < 50; ++round) {
      ASSERT_TRUE(view->Commit({}).ok());
      if (dice.OneIn(5)) walk.Prefill(RandomText(*model, 7, dice));
      const TokenBatch tree = walk.RandomBatch(3, dice);
      const auto fresh = MustView(walk.session(), options);
      const auto got =
          LogitsOf(*model, {.session = view.get(), .batch = &tree});
      ExpectSame(got,
                 LogitsOf(*model, {.session = fresh.get(), .batch = &tree}));
      const auto whole =
          LogitsOf(*model, {.session = &walk.session(), .batch = &tree});
      const auto slots =
          static_cast<int>(SeenSlots(seen, {}, walk.session().length()).size());
      EXPECT_EQ(SameBits(got.front(), whole.front()),
                slots == walk.session().length());
      walk.Note(tree);
      walk.Commit(walk.RandomPath(dice));
    }
  }
}

// What is not seen says nothing: two texts that differ there alone are one.
TEST_P(Parts, DoNotSeeTheRest) {
  const auto model = Load();
  Dice dice(7);
  std::vector<TokenId> text = RandomText(*model, 40, dice);
  ViewOptions options;
  options.attention = {0};  // deeper keys know of all tokens before them
  options.feed_forward = UpTo(3);
  options.seen = {.first = 4, .latest = 8};
  const auto after = [&] {
    Walk walk(*model);
    walk.Prefill(text);
    const auto view = MustView(walk.session(), options);
    const TokenBatch next = ChainAfter(*view, {5});
    return LogitsOf(*model, {.session = view.get(), .batch = &next}).front();
  };
  const Logits before = after();
  for (const int changed : {4, 20, 31}) {
    text[static_cast<std::size_t>(changed)] ^= 1;
    EXPECT_TRUE(SameBits(after(), before)) << changed;
  }
  for (const int changed : {3, 32, 39}) {
    text[static_cast<std::size_t>(changed)] ^= 1;
    EXPECT_FALSE(SameBits(after(), before)) << changed;
    text[static_cast<std::size_t>(changed)] ^= 1;
  }
}

// Chunks are chosen once, by the first row; with enough of them all is seen.
TEST_P(Parts, SeeChunks) {
  const auto model = Load();
  Dice dice(8);
  Walk walk(*model);
  walk.Prefill(RandomText(*model, 61, dice));
  ViewOptions options = ViewOptions::Layers(UpTo(3));
  options.seen = {.first = 4, .latest = 12, .chunks = 99, .chunk = 4};
  const TokenBatch tree = walk.RandomBatch(4, dice);
  const auto all = MustView(walk.session(), options);
  const auto whole =
      LogitsOf(*model, {.session = &walk.session(), .batch = &tree});
  ExpectSame(LogitsOf(*model, {.session = all.get(), .batch = &tree}), whole);
  // The more chunks, the nearer to the whole.
  std::vector<double> distance;
  for (int chunks : {0, 2, 6, 11}) {
    options.seen.chunks = chunks;
    const auto view = MustView(walk.session(), options);
    const auto got = LogitsOf(*model, {.session = view.get(), .batch = &tree});
    distance.push_back(0);
    for (std::size_t i = 0; i < whole.front().size(); ++i)
      distance.back() += std::abs(got.front()[i] - whole.front()[i]);
  }
  EXPECT_TRUE(std::is_sorted(distance.rbegin(), distance.rend()));
  EXPECT_GT(distance[0], 2 * distance[2]);
  walk.Note(tree);
  walk.Commit({0});
  options.seen.chunk = 0;
  EXPECT_EQ(walk.session().View(options).status().code(),
            absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Devices, Parts, testing::ValuesIn(DeviceNames()),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace banyan
