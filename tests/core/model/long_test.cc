// Faithful to the last bit where caches are long, batches deep and threads have
// work to share.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/ops/cpu_backend.h"
#include "core/ops/weight.h"
#include "tests/core/model/made_model.h"
#include "tests/core/model/walk.h"
#include "tests/support/dice.h"
#include "tests/support/golden_model.h"

namespace banyan {
namespace {

class FaithfulLong : public testing::TestWithParam<WeightFormat> {
 protected:
  MadeModel made_{{}};
  std::vector<std::shared_ptr<CpuBackend>> backends_ = Backends();
};

// One text, its logits taken in pieces of every size. One pass over it all, on
// one thread, is what the others must equal.
TEST_P(FaithfulLong, InChainsOfAnySize) {
  const auto first = made_.Load(backends_.front(), GetParam());
  Dice dice(1);
  const std::vector<TokenId> text = RandomText(*first, 640, dice);
  Walk whole(*first);
  const auto expected = whole.Score(ChainAfter(whole.session(), text));
  for (const auto& backend : backends_) {
    const auto model = made_.Load(backend, GetParam());
    Walk walk(*model);
    for (int size : {1, 256, 2, 3, 4, 5, 130, 6, 7, 8, 9, 16, 17, 33, 64, 65}) {
      const auto at = static_cast<int>(walk.committed().size());
      const auto scores = walk.Score(ChainAfter(
          walk.session(), {text.begin() + at, text.begin() + at + size}));
      for (int row = 0; row < size; ++row)
        ASSERT_TRUE(
            SameBits(ReadRow(*scores, row), ReadRow(*expected, at + row)))
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
    EXPECT_TRUE(SameBits(ReadRow(*last, 0), ReadRow(*expected, 639)))
        << backend->description();
  }
}

TEST_P(FaithfulLong, InTreesAfterAnyHistory) {
  const auto first = made_.Load(backends_.front(), GetParam());
  Oracle oracle(*first);
  for (const auto& backend : backends_) {
    const auto model = made_.Load(backend, GetParam());
    Dice dice(2);
    Walk walk(*model);
    for (int prefix : {0, 13, 100, 3, 250, 190}) {
      walk.Prefill(RandomText(*model, prefix, dice));
      for (int size : {9, 40}) {
        const int before = walk.pending();
        const auto scores = walk.Score(walk.RandomBatch(size, dice));
        for (int row = 0; row < size; row += 7)
          EXPECT_TRUE(SameBits(ReadRow(*scores, row),
                               oracle.After(walk.Text(before + row))))
              << backend->description() << ", row " << row << " behind "
              << walk.committed().size();
      }
      walk.Commit(walk.RandomPath(dice));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Formats, FaithfulLong,
    testing::Values(WeightFormat::kF32, WeightFormat::kBf16, WeightFormat::kQ8),
    [](const auto& row) {
      return absl::StrCat("Format", static_cast<int>(row.param));
    });

}  // namespace
}  // namespace banyan
