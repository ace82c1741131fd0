// Faithful to the last bit where caches are long, batches deep and threads have
// work to share.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/weight.h"
#include "tests/core/transformer/made_model.h"
#include "tests/core/transformer/walk.h"
#include "tests/support/dice.h"
#include "tests/support/made/golden_model.h"
#include "tests/support/must_read.h"

namespace banyan {
namespace {

// In a format and an order of sums.
class FaithfulLong
    : public testing::TestWithParam<std::tuple<WeightFormat, std::string>> {
 protected:
  void SetUp() override {
    if (backends_.empty())
      GTEST_SKIP() << "no instruction set here has that order of sums";
  }

  MadeModel made_{{}};
  const WeightFormat format_ = std::get<0>(GetParam());
  std::vector<std::shared_ptr<Backend>> backends_ =
      Backends(std::get<1>(GetParam()));
};

// One text, its logits taken in pieces of every size. One pass over it all, on
// one thread, is what the others must equal.
TEST_P(FaithfulLong, InChainsOfAnySize) {
  const auto first = made_.Load(backends_.front(), format_);
  Dice dice(1);
  const std::vector<TokenId> text = RandomText(*first, 640, dice);
  Walk whole(*first);
  const auto expected = whole.Score(ChainAfter(whole.session(), text));
  for (const auto& backend : backends_) {
    const auto model = made_.Load(backend, format_);
    Walk walk(*model);
    for (int size : {1, 256, 2, 3, 4, 5, 130, 6, 7, 8, 9, 16, 17, 33, 64, 65}) {
      const auto at = static_cast<int>(walk.committed().size());
      const auto scores = walk.Score(ChainAfter(
          walk.session(), {text.begin() + at, text.begin() + at + size}));
      for (int row = 0; row < size; ++row)
        ASSERT_TRUE(
            SameBits(MustRead(*scores, row), MustRead(*expected, at + row)))
            << backend->description() << ", batch of " << size << " from "
            << at;
      std::vector<int> path;
      for (int row = 0; row < size; ++row) path.push_back(row);
      walk.Commit(path);
    }
    Walk prefilled(*model);
    prefilled.Prefill({text.begin(), text.end() - 1});
    const auto last =
        prefilled.Score(ChainAfter(prefilled.session(), {text.back()}));
    EXPECT_TRUE(SameBits(MustRead(*last, 0), MustRead(*expected, 639)))
        << backend->description();
  }
}

// A text that is prefilled in several pieces hands out the hidden states that
// scoring it gives, in order, and leaves the session as plain prefilling does.
TEST_P(FaithfulLong, FeaturesOfAPrefilledText) {
  const auto model = made_.Load(backends_.front(), format_);
  const std::vector<int> taps = {1, kAfterFinalNorm, 0};
  Dice dice(3);
  const std::vector<TokenId> text = RandomText(*model, 600, dice);
  Walk whole(*model);
  const TokenBatch batch = ChainAfter(whole.session(), text);
  const ScoreRequest request = {&whole.session(), &batch, taps};
  const auto expected = model->Score({&request, 1});
  ASSERT_TRUE(expected.ok()) << expected.status();
  const auto session = model->NewSession();
  int at = 0;
  std::vector<int> pieces;
  const absl::Status status =
      session->Prefill(text, taps, [&](const Scores& piece, int rows) {
        pieces.push_back(rows);
        for (int row = 0; row < rows; ++row, ++at)
          for (int tap = 0; tap < 3; ++tap)
            EXPECT_EQ(MustReadHidden(piece, tap, row, model->hidden_size()),
                      MustReadHidden(*expected->front(), tap, at,
                                     model->hidden_size()))
                << "tap " << tap << ", token " << at;
        return absl::OkStatus();
      });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(at, 600);
  EXPECT_GT(pieces.size(), 1U);
  Walk plain(*model);
  plain.Prefill(text);
  const TokenBatch last = ChainAfter(*session, {5});
  EXPECT_TRUE(SameBits(MustRead(**ScoreOne(*model, *session, last), 0),
                       MustRead(*plain.Score(last), 0)));
}

// What earlier pieces committed is forgotten with the piece that fails.
TEST_P(FaithfulLong, APrefillWhoseReaderFailsLeavesNothing) {
  const auto model = made_.Load(backends_.front(), format_);
  Dice dice(4);
  const std::vector<TokenId> text = RandomText(*model, 600, dice);
  const auto session = model->NewSession();
  ASSERT_TRUE(session->Prefill(absl::MakeConstSpan(text).first(3)).ok());
  int calls = 0;
  const absl::Status status =
      session->Prefill(text, {0}, [&](const Scores& /*piece*/, int /*rows*/) {
        return ++calls == 2 ? absl::DataLossError("the reader")
                            : absl::OkStatus();
      });
  EXPECT_EQ(status, absl::DataLossError("the reader"));
  EXPECT_EQ(session->length(), 3);
  Walk plain(*model);
  plain.Prefill({text.begin(), text.begin() + 3});
  const TokenBatch last = ChainAfter(*session, {5});
  EXPECT_TRUE(SameBits(MustRead(**ScoreOne(*model, *session, last), 0),
                       MustRead(*plain.Score(last), 0)));
}

TEST_P(FaithfulLong, InTreesAfterAnyHistory) {
  const auto first = made_.Load(backends_.front(), format_);
  Oracle oracle(*first);
  for (const auto& backend : backends_) {
    const auto model = made_.Load(backend, format_);
    Dice dice(2);
    Walk walk(*model);
    for (int prefix : {0, 13, 100, 3, 250, 190}) {
      walk.Prefill(RandomText(*model, prefix, dice));
      for (int size : {9, 40}) {
        const int before = walk.pending();
        const auto scores = walk.Score(walk.RandomBatch(size, dice));
        for (int row = 0; row < size; row += 7)
          EXPECT_TRUE(SameBits(MustRead(*scores, row),
                               oracle.After(walk.Text(before + row))))
              << backend->description() << ", row " << row << " after "
              << walk.committed().size();
      }
      walk.Commit(walk.RandomPath(dice));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Formats, FaithfulLong,
    testing::Combine(testing::Values(WeightFormat::kF32, WeightFormat::kBf16,
                                     WeightFormat::kQ8),
                     testing::Values("lanes", "tiles")),
    [](const auto& row) {
      return absl::StrCat("Format", static_cast<int>(std::get<0>(row.param)),
                          "_", std::get<1>(row.param));
    });

}  // namespace
}  // namespace banyan
