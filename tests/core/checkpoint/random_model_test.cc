// What scripts/random_model writes is a checkpoint.
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/checkpoint.h"
#include "core/terminal/columns.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/checkpoint/files.h"

namespace banyan {
namespace {

using testing::ElementsAre;

TEST(RandomModel, IsReadInEveryTypeWithWeightsOfTheSpreadItSays) {
  const TestFolder folder;
  for (const std::string dtype : {"bf16", "f16", "f32"}) {
    SCOPED_TRACE(dtype);
    const std::string out = absl::StrCat(folder.path(), "/", dtype);
    const std::string command = absl::StrCat(
        ShellWord(PYTHON3),
        " scripts/random_model --hidden 64 --layers 2 --heads 4 ",
        "--kv-heads 2 --feed-forward 68 --vocab 301 --context 32 --dtype ",
        dtype, " --out ", ShellWord(out));
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    const auto opened = Checkpoint::Open(out);
    ASSERT_TRUE(opened.ok()) << opened.status();
    const Architecture& architecture = (*opened)->architecture();
    EXPECT_EQ(architecture.layers.size(), 2u);
    EXPECT_EQ(architecture.kv_heads, 2);
    EXPECT_EQ(architecture.context_limit, 32);
    EXPECT_FALSE(architecture.tied_head);
    EXPECT_THAT(architecture.end_of_text, ElementsAre(2));
    EXPECT_EQ(architecture.begin_of_text, 1);
    std::vector<float> head(301 * 64);
    ASSERT_TRUE(
        (*opened)
            ->ReadRows(architecture.head, {0, 301}, absl::MakeSpan(head))
            .ok());
    double sum = 0;
    double squares = 0;
    for (const float weight : head) {
      sum += weight;
      squares += weight * weight;
      ASSERT_TRUE(std::abs(weight) >= 1 / 128.0f &&
                  std::abs(weight) < 1 / 8.0f);
    }
    // 19264 weights: the mean is known to 0.00023, the root of the mean square
    // to a hundredth of itself; the seed is fixed.
    EXPECT_NEAR(sum / 301 / 64, 0, 0.001);
    EXPECT_NEAR(std::sqrt(squares / 301 / 64), 0.032, 0.001);
    std::vector<float> norm(64);
    ASSERT_TRUE(
        (*opened)
            ->ReadRows(architecture.final_norm, {0, 64}, absl::MakeSpan(norm))
            .ok());
    for (const float weight : norm) EXPECT_NEAR(weight, 1, 0.11);
  }
}

}  // namespace
}  // namespace banyan
