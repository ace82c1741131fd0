// What cost_aware drafts on the models of configs/hello.yaml, by what the rows
// of a pass cost.
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/check.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "experiments/loading/method_file.h"
#include "tests/experiments/preset_bench.h"
#include "tests/support/decoding.h"

namespace banyan {
namespace {

constexpr int kMostNodes = 16;

struct Grown {
  double nodes = 0;  // of a round
  std::map<std::size_t, std::vector<TokenId>> texts;
};

// Decodes with trees of the shipped drafter where a pass costs so.
Grown Decoded(const std::string& target_ms) {
  const auto method = ParseYaml(
      absl::StrCat(
          "models: {draft: {directory: models/pycode-draft-1}}\n"
          "drafters: [{name: small_model, model: draft}]\n"
          "policy: {name: cost_aware, nodes: ",
          kMostNodes, ", target_ms: ", target_ms,
          ", draft_ms: [0.01], alone: [[[0.6, 0.3, 0.2], [0.6, 0.3]]]}\n"
          "verifier: {name: multi_round}\n"),
      "method.yaml");
  Check(method.ok(), method.status().message());
  PresetBench bench(OneThread(), kShippedTarget, ShippedPrompts(3), 32);
  Grown grown;
  grown.texts = bench.Decode(bench.Open(*method, "auto"));
  Check(bench.rounds > 20, "rounds were drafted");
  grown.nodes =
      static_cast<double>(bench.drafted) / static_cast<double>(bench.rounds);
  return grown;
}

TEST(CostCurves, DecideHowManyNodesATreeHas) {
  const Grown flat = Decoded("{1: 10, 17: 10.001}");
  const Grown steep = Decoded("{1: 10, 17: 170}");
  const Grown step = Decoded("{1: 10, 4: 10.1, 5: 30, 17: 40}");
  EXPECT_GT(flat.nodes, 0.75 * kMostNodes);
  EXPECT_EQ(steep.nodes, 0);
  EXPECT_GT(step.nodes, 2.75);
  EXPECT_LE(step.nodes, 3);
  EXPECT_EQ(flat.texts, steep.texts) << "steep costs are plain decoding";
  EXPECT_EQ(step.texts, steep.texts);
}

}  // namespace
}  // namespace banyan
