// The presets of configs/methods over a target of which every layer is read
// from disk in every pass: at temperature 0 the text is that of plain decoding
// in memory, and at temperature 1 every round is the one of the target in
// memory.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/params.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/checkpoint.h"
#include "core/model/model.h"
#include "experiments/loading/method_file.h"
#include "experiments/makers/pack_model.h"
#include "tests/core/checkpoint/files.h"
#include "tests/experiments/preset_bench.h"
#include "tests/experiments/preset_files.h"
#include "tests/support/sanitized.h"
#include "tests/support/tally.h"

namespace banyan {
namespace {

constexpr int kPrompts = 4;
constexpr int kTokens = 16;

// The shipped target, packed once for all tests.
std::string PackedTarget(const std::string& weights) {
  static const TestFolder& folder = *new TestFolder;
  static std::set<std::string>& made = *new std::set<std::string>;
  std::string path = absl::StrCat(folder.path(), "/", weights, ".pack");
  if (!made.insert(weights).second) return path;
  const auto checkpoint = Checkpoint::Open(kShippedTarget);
  Check(checkpoint.ok(), checkpoint.status().message());
  const auto done = PackModel(**checkpoint, {.format = *FindFormat(weights)},
                              path, [](std::int64_t, std::int64_t) {});
  Check(done.ok(), done.status().message());
  return path;
}

// Whether a drafter is the target in q8.
bool HasCopy(const Params& preset) {
  const Params* const models = preset.Find("models");
  if (models == nullptr || models->kind() != Params::Kind::kMap) return false;
  for (const Params::Entry& entry : models->entries()) {
    const Params* const directory = entry.value.kind() == Params::Kind::kMap
                                        ? entry.value.Find("directory")
                                        : nullptr;
    if (directory != nullptr && directory->text() == "target") return true;
  }
  return false;
}

std::vector<std::string> Formats() {
  if (kSanitized) return {"q8"};
  return {"bf16", "q8"};
}

class EveryPresetStreamed : public testing::TestWithParam<std::string> {};

TEST_P(EveryPresetStreamed, LeavesGreedyTextAsItIsInMemory) {
  Tally tally;
  for (const std::string& weights : Formats()) {
    PresetBench whole(OneThread(), kShippedTarget,
                      PromptsFor(GetParam(), kPrompts), kTokens);
    PresetBench streamed(OneThread(), PackedTarget(weights),
                         PromptsFor(GetParam(), kPrompts), kTokens,
                         /*streamed=*/true);
    const LoadedMethod method = streamed.Open(Preset(GetParam()), weights);
    EXPECT_GT(method.target.model->facts().disk_bytes, 0U);
    const auto texts = streamed.Decode(method);
    EXPECT_EQ(whole.Decode(whole.Open(Preset("plain"), weights)), texts);
    EXPECT_GT(streamed.drafted, 0U);
    tally.Count(CaseResult::kProven, static_cast<int>(texts.size()));
  }
  ExpectCounts(tally, kSanitized ? 2 : 4);
}

TEST_P(EveryPresetStreamed, DrawsTheSameAtTemperatureOne) {
  Tally tally;
  // A copy in another format shares the target's embedding, and so drafts other
  // trees than one of its own.
  const std::string weights = HasCopy(Preset(GetParam())) ? "q8" : "bf16";
  PresetBench whole(OneThread(), kShippedTarget, PromptsFor(GetParam(), 2),
                    kTokens);
  PresetBench streamed(OneThread(), PackedTarget(weights),
                       PromptsFor(GetParam(), 2), kTokens,
                       /*streamed=*/true);
  const LoadedMethod expected = whole.Open(Preset(GetParam()), weights, "1");
  const LoadedMethod method = streamed.Open(Preset(GetParam()), weights, "1");
  for (std::size_t i = 0; i < whole.prompts().size(); ++i) {
    EXPECT_EQ(whole.Trace(*expected.decoder, whole.prompts()[i]),
              streamed.Trace(*method.decoder, streamed.prompts()[i]))
        << "prompt " << i;
    tally.Count(CaseResult::kProven);
  }
  ExpectCounts(tally, 1);
}

INSTANTIATE_TEST_SUITE_P(All, EveryPresetStreamed,
                         testing::ValuesIn(DraftingPresets()),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace banyan
