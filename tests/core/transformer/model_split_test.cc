// A model that several ranks share gives the bits of one process: every family
// and weight format, trees, prefixes and views, whatever the number of ranks.
#include "core/transformer/model_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/checkpoint.h"
#include "core/device/ranks/communicator.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/devices.h"
#include "core/transformer/transformer.h"
#include "tests/core/transformer/made_model.h"
#include "tests/core/transformer/walk.h"
#include "tests/support/dice.h"
#include "tests/support/made/golden_model.h"
#include "tests/support/thread_ranks.h"

namespace banyan {
namespace {

using testing::HasSubstr;

// "cpu", "reference", or an instruction set of the cpu, which then has two
// threads.
std::shared_ptr<Backend> OpenSplit(const std::string& device) {
  if (device == "reference") return *OpenDevice(device);
  if (device == "cpu") return *OpenDevice(device, {.threads = 1});
  auto backend = OpenDevice("cpu", {.threads = 2, .instruction_set = device});
  Check(backend.ok(), backend.status().message());
  return *std::move(backend);
}

std::unique_ptr<Transformer> Load(const std::string& directory,
                                  WeightFormat format,
                                  const std::string& device,
                                  const std::shared_ptr<Communicator>& ranks) {
  const auto checkpoint = Checkpoint::Open(directory);
  Check(checkpoint.ok(), checkpoint.status().message());
  auto model = Transformer::Load(
      **checkpoint, {.format = format, .ranks = ranks}, OpenSplit(device));
  Check(model.ok(), model.status().message());
  return *std::move(model);
}

// A walk's logits: a prompt, trees whose paths are committed, views that run
// some layers, and views that see the chunks of the text that get the most
// attention.
std::vector<Logits> WalkOf(const Transformer& model) {
  Dice dice(7);
  Walk walk(model);
  std::vector<Logits> all;
  const auto add = [&](Session& session, const TokenBatch& batch) {
    for (Logits& row :
         LogitsOf(model, {.session = &session, .batch = &batch, .taps = {}}))
      all.push_back(std::move(row));
  };
  walk.Prefill(RandomText(model, 21, dice));
  for (int round = 0; round < 4; ++round) {
    ViewOptions some = ViewOptions::Layers({0});
    some.seen = {.first = 2, .latest = 8, .chunks = 2, .chunk = 2};
    const auto view = MustView(walk.session(), some);
    add(*view, TokenBatch::Chain(RandomText(model, 2, dice), view->length()));
    const TokenBatch batch = walk.RandomBatch(dice.Between(1, 9), dice);
    add(walk.session(), batch);
    walk.Note(batch);
    walk.Commit(walk.RandomPath(dice));
  }
  return all;
}

void ExpectAlike(const std::string& directory, WeightFormat format,
                 const std::string& device, int count) {
  SCOPED_TRACE(absl::StrCat(directory, ", ", Name(format), ", ", device, ", ",
                            count, " ranks"));
  const std::vector<Logits> expected =
      WalkOf(*Load(directory, format, device, nullptr));
  std::vector<std::vector<Logits>> found(static_cast<std::size_t>(count));
  OnRanks(count, [&](const std::shared_ptr<Communicator>& ranks) {
    found[static_cast<std::size_t>(ranks->rank())] =
        WalkOf(*Load(directory, format, device, ranks));
  });
  for (const std::vector<Logits>& of_rank : found) {
    ASSERT_EQ(of_rank.size(), expected.size());
    ExpectSame(of_rank, expected);
  }
}

class OnAnyRanks : public testing::TestWithParam<std::string> {};

TEST_P(OnAnyRanks, LogitsAreThoseOfOneProcess) {
  for (const int count : {2, 3, 5})
    for (const WeightFormat format :
         {WeightFormat::kF32, WeightFormat::kBf16, WeightFormat::kQ8})
      ExpectAlike(GoldenFolder(GetParam()), format, "cpu", count);
  ExpectAlike(GoldenFolder(GetParam()), WeightFormat::kF32, "reference", 2);
}

INSTANTIATE_TEST_SUITE_P(All, OnAnyRanks, testing::ValuesIn(GoldenNames()),
                         [](const auto& test) { return test.param; });

// Three key heads on two to sixteen ranks, of which most have none; a hidden
// size and an output head of panels that do not divide.
TEST(ModelSplit, HasRanksWithoutHeads) {
  const MadeModel model({.heads = 6, .kv_heads = 3});
  for (const int count : {1, 2, 4, 7, kMostRanks})
    for (const WeightFormat format : {WeightFormat::kBf16, WeightFormat::kQ8})
      ExpectAlike(model.path(), format, "cpu", count);
  ExpectAlike(model.path(), WeightFormat::kBf16, "AMX_EMULATED", 4);
  ExpectAlike(model.path(), WeightFormat::kQ8, "reference", 4);
}

TEST(ModelSplit, SharesHeadsOfFewerTokens) {
  const MadeModel model({});
  const std::vector<TokenId> tokens = {5, 9, 2, 77, 300, 31, 8};
  const auto logits_of = [&](const std::shared_ptr<Communicator>& ranks) {
    const auto whole = Load(model.path(), WeightFormat::kBf16, "cpu", ranks);
    const auto some = whole->WithOutputs(tokens);
    Check(some.ok(), some.status().message());
    const auto session = whole->NewSession();
    ViewOptions options = ViewOptions::Layers({0, 1});
    options.weights = *some;
    const auto view = MustView(*session, options);
    const TokenBatch batch = TokenBatch::Chain(tokens, 0);
    return LogitsOf(**some, {.session = view.get(), .batch = &batch});
  };
  const std::vector<Logits> expected = logits_of(nullptr);
  ASSERT_EQ(expected.size(), tokens.size());
  OnRanks(3, [&](const std::shared_ptr<Communicator>& ranks) {
    ExpectSame(logits_of(ranks), expected);
  });
}

// A rank that commits another path, or drafts another token, is found by all in
// the next pass.
TEST(ModelSplit, TellsRanksThatDecodeDifferently) {
  const MadeModel model({});
  for (const bool commits : {true, false}) {
    std::mutex turn;
    std::vector<absl::Status> ends;
    OnRanks(3, [&](const std::shared_ptr<Communicator>& ranks) {
      const auto shared = Load(model.path(), WeightFormat::kF32, "cpu", ranks);
      const bool differs = ranks->rank() == 2;
      const auto session = shared->NewSession();
      const TokenBatch batch = {.tokens = {4, 5, 6},
                                .positions = {0, 1, 1},
                                .parents = {TokenBatch::kCommitted, 0, 0}};
      absl::Status status = ScoreOne(*shared, *session, batch).status();
      Check(status.ok(), status.message());
      status = session->Commit(commits && differs ? std::vector<int>{0, 2}
                                                  : std::vector<int>{0, 1});
      Check(status.ok(), status.message());
      const TokenBatch next = TokenBatch::Chain(
          std::vector<TokenId>{!commits && differs ? 8 : 7}, 2);
      status = ScoreOne(*shared, *session, next).status();
      const std::lock_guard<std::mutex> lock(turn);
      ends.push_back(status);
    });
    ASSERT_EQ(ends.size(), 3U);
    for (const absl::Status& end : ends) {
      EXPECT_EQ(end.code(), absl::StatusCode::kDataLoss) << end;
      EXPECT_THAT(std::string(end.message()), HasSubstr("rank 2"));
      EXPECT_THAT(std::string(end.message()), HasSubstr("different tokens"));
    }
  }
}

TEST(ModelSplit, RefusesDevicesAndMemoryThatCannotBeShared) {
  const MadeModel model({});
  const auto checkpoint = Checkpoint::Open(model.path());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  OnRanks(2, [&](const std::shared_ptr<Communicator>& ranks) {
    const absl::Status host = Transformer::Load(**checkpoint, {.ranks = ranks},
                                                BackendOf("emulated_gpu"))
                                  .status();
    EXPECT_EQ(host.code(), absl::StatusCode::kUnimplemented) << host;
    EXPECT_THAT(std::string(host.message()),
                HasSubstr("expected the device cpu or reference"));
    const absl::Status memory =
        Transformer::Load(**checkpoint,
                          {.room = {.memory = 1 << 30}, .ranks = ranks},
                          OpenSplit("cpu"))
            .status();
    EXPECT_EQ(memory.code(), absl::StatusCode::kInvalidArgument) << memory;
    EXPECT_THAT(std::string(memory.message()), HasSubstr("memory"));
  });
}

TEST(Partition, GivesEveryColumnToOneRank) {
  int cases = 0;
  for (const int size : {1, 15, 16, 17, 48, 136, 301, 576})
    for (const int unit : {1, 16})
      for (int ranks = 1; ranks <= kMostRanks; ++ranks, ++cases) {
        const Partition cut(size, unit, ranks);
        int next = 0;
        int least = size;
        int most = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          const Stretch part = cut.of(rank);
          EXPECT_EQ(part.first, next);
          if (part.count > 0) {
            EXPECT_EQ(part.first % unit, 0);
          }
          next += part.count;
          const int units = (part.count + unit - 1) / unit;
          least = std::min(least, units);
          most = std::max(most, units);
        }
        EXPECT_EQ(next, size);
        EXPECT_LE(most - least, 1);
      }
  EXPECT_EQ(cases, 8 * 2 * kMostRanks);
}

}  // namespace
}  // namespace banyan
