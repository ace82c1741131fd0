// Trees of the shipped target scored path by path, by drafters that read of the
// target what a row a node would give them: its hidden states, its rows, the
// rows that a view of it has computed.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/ops/cpu/cpu_backend.h"
#include "core/ops/weight.h"
#include "core/prob/sampling_rule.h"
#include "core/transformer/transformer.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "drafters/drafter.h"
#include "drafters/heads/eagle/eagle.h"
#include "drafters/heads/eagle/head.h"
#include "drafters/small_models/small_model/small_model.h"
#include "drafters/target/early_exit/early_exit.h"
#include "drafters/target/lookahead/lookahead.h"
#include "tests/decode/same_rounds.h"
#include "tests/support/decoding.h"
#include "tests/support/made/golden_model.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

std::shared_ptr<Transformer> Shipped(const std::string& name,
                                     std::shared_ptr<Backend> backend) {
  return LoadModel(absl::StrCat("models/", name), std::move(backend),
                   WeightFormat::kBf16);
}

std::unique_ptr<Drafter> Make(const std::string& name,
                              const std::shared_ptr<Transformer>& target,
                              const std::shared_ptr<Backend>& backend,
                              const SamplingRule& rule) {
  if (name == "small_model")
    return std::make_unique<SmallModel>(Shipped("pycode-draft-1", backend),
                                        rule);
  if (name == "early_exit")
    return std::make_unique<EarlyExit>(target, std::vector<int>{2}, 1, rule);
  if (name == "lookahead")
    return std::make_unique<Lookahead>(target->vocab_size(),
                                       LookaheadOptions());
  auto head = LoadEagleHead("models/pycode-eagle3", *target);
  Check(head.ok(), head.status().message());
  return std::make_unique<Eagle>(*std::move(head), rule);
}

class UnmergedOnShipped : public testing::TestWithParam<std::string> {};

TEST_P(UnmergedOnShipped, GivesTheSameRounds) {
  auto created = CpuBackend::Create({.threads = 2});
  ASSERT_TRUE(created.ok()) << created.status();
  const std::shared_ptr<Backend> backend = *std::move(created);
  const std::shared_ptr<Transformer> target = Shipped("pycode-target", backend);
  // "def add(a, b):"
  const Prompt prompt = {.tokens = {530, 855, 66, 275, 717, 991, 8, 78, 288}};
  for (const double temperature : {0., 1.}) {
    const SamplingOptions sampling = {.temperature = temperature};
    std::vector<Trunk> trunks;
    trunks.push_back(
        TrunkOf(Make(GetParam(), target, backend, SamplingRule(sampling)),
                "expansion {branching: [3, 2, 1]}",
                GetParam() == "lookahead" || temperature == 0
                    ? DrawKind::kDeterministic
                    : DrawKind::kIndependent));
    auto decoder =
        WithTrunks(*target, "multi_round", std::move(trunks), sampling);
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    decoder->KeepFacts();
    const auto rounds_by = [&](Scoring scoring) {
      decoder->method().scoring = scoring;
      Decoded decoded = MustDecode(*decoder, prompt, {.max_new_tokens = 40}, 5);
      return Rounds{std::move(decoded.tokens), std::move(decoded.rounds)};
    };
    const Rounds merged = rounds_by(Scoring::kMerged);
    Rounds unmerged = rounds_by(Scoring::kUnmerged);
    int accepted = 0;
    int saved = 0;
    for (RoundRecord& round : unmerged.rounds) {
      accepted += static_cast<int>(round.verdict.path.size());
      saved += round.pass_tokens - round.tree.size();
      round.pass_tokens = round.tree.size();
    }
    ExpectSameRounds(unmerged, merged, /*whole=*/true);
    EXPECT_GT(accepted, 0);  // else no path was kept
    EXPECT_GT(saved, 40);
  }
}

INSTANTIATE_TEST_SUITE_P(Drafters, UnmergedOnShipped,
                         testing::Values("small_model", "early_exit",
                                         "lookahead", "eagle3"),
                         [](const auto& row) { return row.param; });

// Counts the rows that passes go on from.
class Counting : public Model {
 public:
  explicit Counting(std::shared_ptr<Transformer> model)
      : Model(model->shape()), model_(std::move(model)) {}
  std::unique_ptr<Session> NewSession() const override {
    return model_->NewSession();
  }
  absl::StatusOr<std::vector<std::unique_ptr<Scores>>> Score(
      absl::Span<const ScoreRequest> requests) const override {
    for (const ScoreRequest& request : requests)
      for (int row : request.done.rows) done += row >= 0 ? 1 : 0;
    return model_->Score(requests);
  }

  mutable int done = 0;

 private:
  std::shared_ptr<Transformer> model_;
};

// What a view has computed of a node serves each of its rows.
TEST(UnmergedRounds, GoOnFromWhatAViewHasComputed) {
  auto created = CpuBackend::Create({.threads = 2});
  ASSERT_TRUE(created.ok()) << created.status();
  const std::shared_ptr<Backend> backend = *std::move(created);
  const auto target = Shipped("pycode-target", backend);
  const Counting counting(target);
  std::vector<Trunk> trunks;
  trunks.push_back(TrunkOf(Make("early_exit", target, backend, SamplingRule()),
                           "expansion {branching: [3, 2, 1]}"));
  auto decoder = WithTrunks(counting, "multi_round", std::move(trunks));
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  for (const Scoring scoring : {Scoring::kMerged, Scoring::kUnmerged}) {
    decoder->method().scoring = scoring;
    counting.done = 0;
    const Decoded decoded =
        MustDecode(*decoder, {.tokens = {530, 855, 66}}, {.max_new_tokens = 9});
    // The last level was drafted, and no view has computed it.
    int expected = 0;
    for (const RoundRecord& round : decoded.rounds)
      for (const Node& leaf : round.tree.nodes())
        expected +=
            scoring == Scoring::kMerged
                ? (leaf.depth < 3 ? 1 : 0)
                : (leaf.children.empty() ? std::min(leaf.depth + 1, 3) : 0);
    EXPECT_EQ(counting.done, expected);
  }
}

}  // namespace
}  // namespace banyan
