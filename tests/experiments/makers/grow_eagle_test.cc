// EAGLE heads grown with their target, at their trained sizes and at sizes like
// the target's: the same proposals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/checkpoint/checkpoint.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "core/transformer/transformer.h"
#include "drafters/head_tools.h"
#include "drafters/heads/eagle/eagle.h"
#include "drafters/heads/eagle/head.h"
#include "experiments/makers/grow/grow_model.h"
#include "experiments/makers/grow/model_size.h"
#include "experiments/makers/grow/output_folder.h"
#include "nlohmann/json.hpp"
#include "tests/core/checkpoint/files.h"
#include "tests/core/transformer/walk.h"
#include "tests/experiments/makers/growing.h"
#include "tests/support/must_read.h"
#include "tests/support/shared_models.h"
#include "tests/support/solo.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

using testing::HasSubstr;

// What a head proposes after a text, and below two tokens after it.
std::vector<Distribution> EagleLaws(const std::string& head,
                                    const Transformer& target,
                                    const std::vector<TokenId>& text) {
  auto loaded = LoadEagleHead(head, target);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  Solo drafter(std::make_shared<Eagle>(*std::move(loaded), SamplingRule()));
  Context context = {.tokens = text};
  Features& features = context.features;
  features.taps = drafter.traits().taps;
  features.hidden_size = target.hidden_size();
  const auto keep = [&](const Scores& piece, int rows) {
    for (int row = 0; row < rows; ++row)
      for (std::size_t tap = 0; tap < features.taps.size(); ++tap) {
        const std::vector<float> state = MustReadHidden(
            piece, static_cast<int>(tap), row, target.hidden_size());
        features.values.insert(features.values.end(), state.begin(),
                               state.end());
      }
    features.rows += rows;
    return absl::OkStatus();
  };
  const auto session = target.NewSession();
  EXPECT_TRUE(session
                  ->Prefill(absl::MakeConstSpan(text).first(text.size() - 1),
                            features.taps, keep)
                  .ok());
  EXPECT_TRUE(drafter.Begin(context).ok());
  TrunkTree tree(context.root(), 0, DrawKind::kIndependent);
  std::vector<Distribution> laws;
  int node = 0;
  for (const TokenId token : {30, 12, 7}) {
    const auto law = drafter.Propose(context, tree, {node});
    EXPECT_TRUE(law.ok()) << law.status();
    laws.push_back(law->front());
    node = tree.AddProbe(node, token);
  }
  return laws;
}

// Grows a head of `target` into the folder `to`.
absl::StatusOr<GrownHeads> GrowHead(const std::string& head,
                                    const std::string& target,
                                    const ModelSize& size, bool like_target,
                                    const std::string& to) {
  const auto checkpoint = MustOpen(target);
  const auto folder = OutputFolder::Make(to);
  EXPECT_TRUE(folder.ok()) << folder.status();
  GrowingTarget growing = {
      .hidden_size = checkpoint->architecture().hidden_size,
      .new_hidden_size = size.hidden,
      .vocab_size = checkpoint->architecture().vocab_size,
      .checkpoint = checkpoint.get()};
  if (like_target)
    growing.like = {size.heads, size.kv_heads, size.feed_forward};
  auto report = GrowHeads(head, {.target = growing}, {}, **folder);
  if (report.ok()) (*folder)->Keep();
  return report;
}

// 768 is 4 times 192.
TEST(GrowEagle, ShippedHeadsKeepEveryBit) {
  const std::string target = "models/pycode-target";
  const Grown grown(target, {.like = "110m"});
  const auto backend = Backends().front();
  const auto before = MustLoad(target, backend);
  const auto after = MustLoad(grown.path(), backend);
  const std::vector<TokenId> text = {300, 12, 45, 7, 1023, 511};
  for (const char* name : {"pycode-eagle1", "pycode-eagle3"})
    for (const bool like_target : {false, true}) {
      SCOPED_TRACE(absl::StrCat(name, like_target ? ", like its target" : ""));
      const std::string head = absl::StrCat("models/", name);
      const TestFolder folder;
      const std::string out = folder.path() + "/head";
      const auto report =
          GrowHead(head, target, grown.report().after, like_target, out);
      ASSERT_TRUE(report.ok()) << report.status();
      EXPECT_EQ(report->like_target, like_target);
      EXPECT_THAT(report->summary,
                  HasSubstr(like_target ? "grown to width 768 like the target"
                                        : "the numbers of the states"));
      const auto config =
          nlohmann::json::parse(folder.Read("head/config.json"));
      EXPECT_EQ(config.at("grown_from").at("like_target"), like_target);
      EXPECT_EQ(config.at("intermediate_size"), like_target ? 2048 : 512);
      EXPECT_EQ(config.at("num_attention_heads"), like_target ? 12 : 3);
      const auto expected = EagleLaws(head, *before, text);
      const auto found = EagleLaws(out, *after, text);
      ASSERT_EQ(found.size(), 3U);
      for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_TRUE(Equal(found[i], expected[i])) << "law " << i;
    }
}

constexpr char kGoldens[] = "tests/goldens/eagle/";

class GrowEagleOf
    : public testing::TestWithParam<std::tuple<std::string, bool>> {};

// Four times as wide, with more layers, more heads of both kinds and a wider
// inner part.
TEST_P(GrowEagleOf, ProposesTheSame) {
  const auto& [name, like_target] = GetParam();
  const std::string head = kGoldens + name;
  const std::string target = absl::StrCat(kGoldens, "target");
  const Grown grown(target, {.sizes = {.hidden = 72,
                                       .layers = 11,
                                       .heads = 8,
                                       .kv_heads = 2,
                                       .feed_forward = 60}});
  const TestFolder folder;
  const std::string out = folder.path() + "/head";
  const auto report =
      GrowHead(head, target, grown.report().after, like_target, out);
  ASSERT_TRUE(report.ok()) << report.status();
  const auto backend = Backends().front();
  const std::vector<TokenId> text = {30, 12, 45, 7, 60, 51, 12};
  const auto expected = EagleLaws(head, *MustLoad(target, backend), text);
  const auto found = EagleLaws(out, *MustLoad(grown.path(), backend), text);
  // A norm over three states takes those of 18 and of 72 numbers, side by side,
  // into other lanes of its sum.
  const bool rounds = like_target && name == "eagle31_input_norm";
  for (std::size_t i = 0; i < found.size(); ++i)
    for (TokenId token = 0; token < 61; ++token) {
      const double mass = expected[i].Mass(token);
      ASSERT_NEAR(found[i].Mass(token), mass, rounds ? 1e-5 * mass : 0)
          << "law " << i << ", token " << token;
    }
}

INSTANTIATE_TEST_SUITE_P(
    EveryLayout, GrowEagleOf,
    testing::Combine(testing::Values("eagle1", "eagle1_plain", "eagle3_safeai",
                                     "eagle3_specforge", "eagle3_speculators",
                                     "eagle31_fc_norm", "eagle31_input_norm",
                                     "eagle3_four_taps", "mtp_mimo",
                                     "mtp_fast"),
                     testing::Bool()),
    [](const auto& row) {
      return std::get<0>(row.param) +
             (std::get<1>(row.param) ? "_LikeItsTarget" : "_AsItIs");
    });

// 15 numbers beside the target's 18 would be 20 beside 24, and 17.5 beside 21.
TEST(GrowEagle, RefusesAWidthThatIsNoWholeNumber) {
  const std::string target = absl::StrCat(kGoldens, "target");
  const std::string head = absl::StrCat(kGoldens, "eagle31_input_norm");
  const TestFolder folder;
  ModelSize size = {
      .hidden = 24, .layers = 9, .heads = 3, .kv_heads = 1, .feed_forward = 26};
  EXPECT_TRUE(GrowHead(head, target, size, true, folder.path() + "/24").ok());
  size.hidden = 21;
  const absl::Status status =
      GrowHead(head, target, size, true, folder.path() + "/21").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("hidden_size 15 times 21/18"));
}

}  // namespace
}  // namespace banyan
