// Views: readers of another session's committed cache that run some layers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/base/check.h"
#include "core/base/token.h"
#include "core/model/model.h"
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

std::vector<int> AllLayers(const Model& model) {
  std::vector<int> layers(static_cast<std::size_t>(model.layers()));
  std::iota(layers.begin(), layers.end(), 0);
  return layers;
}

std::unique_ptr<Session> MustView(Session& session,
                                  const std::vector<int>& layers) {
  auto view = session.View(ViewOptions::Layers(layers));
  Check(view.ok(), view.status().message());
  return *std::move(view);
}

std::vector<Logits> MustScore(const Model& model, Session& session,
                              const TokenBatch& batch) {
  auto scores = ScoreOne(model, session, batch);
  Check(scores.ok(), scores.status().message());
  std::vector<Logits> rows;
  for (int row = 0; row < batch.size(); ++row)
    rows.push_back(MustRead(**scores, row));
  return rows;
}

class Views : public testing::TestWithParam<GoldenOnDevice> {
 protected:
  void SetUp() override {
    if (GetParam().LeftOut()) GTEST_SKIP() << kHostLeftOut;
  }
  std::unique_ptr<Transformer> Load(
      WeightFormat format = WeightFormat::kF32) const {
    return LoadGolden(GetParam().golden, backend_, format);
  }

  const std::shared_ptr<Backend> backend_ = BackendOf(GetParam().device);
};

TEST_P(Views, OfAllLayersGiveTheParentsLogits) {
  for (WeightFormat format : {WeightFormat::kF32, WeightFormat::kQ8}) {
    const auto model = Load(format);
    Dice dice(1);
    Walk walk(*model);
    const auto view = MustView(walk.session(), AllLayers(*model));
    const auto nested = MustView(*view, AllLayers(*model));
    for (int round = 0; round < 5; ++round) {
      EXPECT_EQ(view->length(), walk.session().length());
      const TokenBatch first = walk.RandomBatch(5, dice);
      const auto expected = MustScore(*model, walk.session(), first);
      ExpectSame(MustScore(*model, *view, first), expected);
      ExpectSame(MustScore(*model, *nested, first), expected);
      walk.Note(first);
      const TokenBatch second = walk.RandomBatch(9, dice);
      const auto more = MustScore(*model, walk.session(), second);
      ExpectSame(MustScore(*model, *view, second), more);
      walk.Note(second);
      EXPECT_EQ(view->pending(), 14);
      walk.Commit({0});
      EXPECT_EQ(view->pending(), 0);
      EXPECT_EQ(nested->pending(), 0);
    }
  }
}

// Whatever a view does, the parent says what it would have said.
TEST_P(Views, DoNotChangeTheParent) {
  const auto model = Load();
  Oracle oracle(*model);
  Dice dice(2);
  Walk walk(*model);
  walk.Prefill(RandomText(*model, 5, dice));
  for (int round = 0; round < 6; ++round) {
    std::vector<int> layers;
    for (int layer = 0; layer < model->layers(); ++layer)
      if (dice.OneIn(2)) layers.push_back(layer);
    if (layers.empty()) layers.push_back(0);
    const auto view = MustView(walk.session(), layers);
    const TokenBatch tree = walk.RandomBatch(7, dice);
    MustScore(*model, *view, tree);
    EXPECT_EQ(walk.session().pending(), 0);
    const auto scores = walk.Score(tree);
    ExpectFaithful(*scores, 0, 7, walk, oracle, GetParam().ToText());
    MustScore(*model, *view, ChainAfter(*view, {1}));
    EXPECT_EQ(view->pending(), 8);
    EXPECT_EQ(walk.session().pending(), 7);
    ASSERT_TRUE(view->Commit({}).ok());
    EXPECT_EQ(view->pending(), 0);
    EXPECT_EQ(walk.session().pending(), 7);
    walk.Commit(walk.RandomPath(dice));
    EXPECT_EQ(view->length(), walk.session().length());
  }
}

// A view and its parent in one call, both ways round.
TEST_P(Views, ShareACallWithTheirParent) {
  const auto model = Load();
  Dice dice(3);
  for (const std::vector<int>& layers :
       {std::vector<int>{0}, AllLayers(*model)})
    for (bool parent_first : {false, true}) {
      Walk walk(*model);
      walk.Prefill(RandomText(*model, 4, dice));
      const TokenBatch tree = walk.RandomBatch(7, dice);
      const auto lone = MustView(walk.session(), layers);
      const auto expected = MustScore(*model, *lone, tree);
      Oracle oracle(*model);
      const auto view = MustView(walk.session(), layers);
      const std::vector<ScoreRequest> requests =
          parent_first ? std::vector<ScoreRequest>{{&walk.session(), &tree},
                                                   {view.get(), &tree}}
                       : std::vector<ScoreRequest>{{view.get(), &tree},
                                                   {&walk.session(), &tree}};
      const auto scores = model->Score(requests);
      ASSERT_TRUE(scores.ok()) << scores.status();
      walk.Note(tree);
      ExpectFaithful(*(*scores)[parent_first ? 0 : 1], 0, 7, walk, oracle,
                     GetParam().ToText());
      for (int row = 0; row < 7; ++row)
        EXPECT_TRUE(SameBits(MustRead(*(*scores)[parent_first ? 1 : 0], row),
                             expected[static_cast<std::size_t>(row)]));
    }
}

TEST_P(Views, CommitNothing) {
  const auto model = Load();
  const auto session = model->NewSession();
  const auto view = MustView(*session, {0});
  EXPECT_FALSE(view->Prefill({1}).ok());
  EXPECT_EQ(view->length(), 0);
  MustScore(*model, *view, ChainAfter(*view, {1, 2}));
  EXPECT_FALSE(view->Prefill({1}).ok());
  EXPECT_FALSE(view->Commit({0}).ok());
  EXPECT_EQ(view->pending(), 2);
  EXPECT_EQ(session->length(), 0);
  EXPECT_EQ(session->pending(), 0);
}

TEST_P(Views, RefuseLayersThatAreNone) {
  const auto model = Load();
  const auto session = model->NewSession();
  const int end = model->layers();
  for (const std::vector<int>& layers : std::vector<std::vector<int>>{
           {-1}, {end}, {0, 0}, {1, 0}, {0, end}, {-1, 0}, {0, 1, 1}}) {
    const auto view = session->View(ViewOptions::Layers(layers));
    EXPECT_EQ(view.status().code(), absl::StatusCode::kInvalidArgument)
        << testing::PrintToString(layers);
  }
}

// After a layer that the view skips there is no hidden state.
TEST_P(Views, TapTheLayersTheyRun) {
  const auto model = Load();
  const auto session = model->NewSession();
  const auto view = MustView(*session, {1});
  const TokenBatch batch = ChainAfter(*view, {1, 2});
  const ScoreRequest fine = {view.get(), &batch, {2, kAfterFinalNorm, 0}};
  const ScoreRequest skipped = {view.get(), &batch, {0, 1}};
  EXPECT_EQ(model->Score({&skipped, 1}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(view->pending(), 0);
  const auto scores = model->Score({&fine, 1});
  ASSERT_TRUE(scores.ok()) << scores.status();
  for (int tap = 0; tap < 3; ++tap)
    EXPECT_THAT(MustReadHidden(*scores->front(), tap, 1, model->hidden_size()),
                testing::Contains(testing::Ne(0)))
        << tap;
}

INSTANTIATE_TEST_SUITE_P(All, Views, testing::ValuesIn(GoldensOnDevices()),
                         [](const auto& row) { return row.param.ToText(); });

// Of made models.
class View : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "emulated_gpu" && LeftOutOnHost("made"))
      GTEST_SKIP() << kHostLeftOut;
  }

  const std::shared_ptr<Backend> backend_ = BackendOf(GetParam());
};

// Without a prefix a view is a model of its layers alone.
TEST_P(View, RunsItsLayersAndNoOther) {
  for (const std::vector<int>& layers :
       std::vector<std::vector<int>>{{0}, {2}, {0, 2}, {1, 2}, {0, 1}}) {
    const MadeModel whole({.layers = {0, 1, 2}});
    const MadeModel part({.layers = layers});
    const auto model = whole.Load(backend_);
    const auto fewer = part.Load(backend_);
    const auto parent = model->NewSession();
    const auto view = MustView(*parent, layers);
    Dice dice(4);
    Walk walk(*fewer);
    for (int call = 0; call < 3; ++call) {
      const TokenBatch tree = walk.RandomBatch(9, dice);
      ExpectSame(MustScore(*model, *view, tree),
                 MustScore(*fewer, walk.session(), tree));
      walk.Note(tree);
    }
  }
}

// A view of the first layers is a shallower model on any prefix: those layers'
// keys and values do not know what comes after.
TEST_P(View, OfTheFirstLayersIsAShallowerModel) {
  const MadeModel whole({.layers = {0, 1, 2}});
  const auto model = whole.Load(backend_);
  for (const std::vector<int>& layers :
       std::vector<std::vector<int>>{{0}, {0, 1}}) {
    const MadeModel part({.layers = layers});
    const auto fewer = part.Load(backend_);
    Dice dice(5);
    Walk walk(*fewer);
    Walk parent(*model);
    const auto view = MustView(parent.session(), layers);
    for (int round = 0; round < 4; ++round) {
      const auto text = RandomText(*model, 40, dice);
      parent.Prefill(text);
      walk.Prefill(text);
      const TokenBatch tree = walk.RandomBatch(9, dice);
      ExpectSame(MustScore(*model, *view, tree),
                 MustScore(*fewer, walk.session(), tree));
      walk.Note(tree);
      const std::vector<int> path = walk.RandomPath(dice);
      parent.Score(tree);
      parent.Commit(path);
      walk.Commit(path);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, View, testing::ValuesIn(DeviceNames()),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace banyan
