// What a decoded round leaves in a record.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_file.h"
#include "experiments/run/prepared_cells.h"
#include "tests/conformance/toys.h"
#include "tests/support/decoding.h"
#include "tests/support/planter.h"
#include "tests/support/table_drafter.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

records::Context OneCell() {
  records::Context context;
  context.add_cells()->set_name("planted");
  context.mutable_cells(0)->set_baseline(1);
  context.mutable_cells(0)->add_trunks()->set_drafter("table");
  context.mutable_cells(0)->add_trunks()->set_drafter("table");
  context.add_cells()->set_name("plain");
  context.mutable_cells(1)->set_baseline(1);
  return context;
}

// Two trunks, of which the second plants a probe and, below it, a vector at
// every node of its own.
TEST(ToRecord, TellsProbesFromWhatWasDrafted) {
  const auto target = WithStates(*Toy({.vocab_size = 4}));
  const auto draft = Toy({.vocab_size = 4, .seed = 1});
  std::vector<Trunk> trunks;
  trunks.push_back(TrunkOf(std::make_unique<TableDrafter>(draft),
                           "expansion {branching: [2, 1]}"));
  trunks.push_back(TrunkOf(
      std::make_unique<Planter>(
          std::make_unique<TableDrafter>(draft),
          std::make_shared<const std::vector<float>>(std::vector<float>{3, 0})),
      "chain {nodes: 2}"));
  auto decoder = WithTrunks(*target, "multi_round", std::move(trunks));
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  decoder->KeepFacts();
  const Decoded decoded =
      MustDecode(*decoder, {.tokens = {0, 1}}, {.max_new_tokens = 40});
  records::PromptRecord record;
  for (const RoundRecord& round : decoded.rounds) AddRound(round, record);
  EXPECT_TRUE(CheckRecord(record, OneCell()).ok())
      << CheckRecord(record, OneCell());
  for (int i = 0; i < record.rounds_size(); ++i) {
    const DraftTree& tree = decoded.rounds[static_cast<std::size_t>(i)].tree;
    const records::Round& round = record.rounds(i);
    EXPECT_EQ(round.probes_size(), 6) << ToText(tree);
    EXPECT_EQ(DraftedNodes(round), tree.Drafted());
    EXPECT_EQ(Levels(round), tree.Height());
    EXPECT_EQ(PassTokens(round), tree.size());
    for (int node = 0; node < tree.size(); ++node) {
      const records::Probe* probe = ProbeAt(round, node);
      ASSERT_EQ(probe != nullptr, tree.node(node).probe());
      if (probe == nullptr) continue;
      EXPECT_EQ(probe->trunk(), 1);
      EXPECT_EQ(probe->vector(), tree.node(node).vector != nullptr);
      EXPECT_EQ(round.target_probability(node), 0);
    }
  }
}

// A pass has more rows than its tree has nodes where paths are scored apart.
TEST(ToRecord, TellsTheRowsOfUnmergedPaths) {
  const auto target = Toy({.vocab_size = 4});
  std::vector<Trunk> trunks;
  for (int i = 0; i < 2; ++i)
    trunks.push_back(TrunkOf(
        std::make_unique<TableDrafter>(Toy({.vocab_size = 4, .seed = 1})),
        "expansion {branching: [2, 1]}"));
  auto decoder = WithTrunks(*target, "multi_round", std::move(trunks));
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  decoder->KeepFacts();
  for (const Scoring scoring : {Scoring::kMerged, Scoring::kUnmerged}) {
    decoder->method().scoring = scoring;
    const Decoded decoded =
        MustDecode(*decoder, {.tokens = {0, 1}}, {.max_new_tokens = 20});
    records::PromptRecord record;
    for (const RoundRecord& round : decoded.rounds) AddRound(round, record);
    EXPECT_TRUE(CheckRecord(record, OneCell()).ok())
        << CheckRecord(record, OneCell());
    int told = 0;
    for (int i = 0; i < record.rounds_size(); ++i) {
      const records::Round& round = record.rounds(i);
      EXPECT_EQ(PassTokens(round),
                decoded.rounds[static_cast<std::size_t>(i)].pass_tokens);
      EXPECT_EQ(round.sequences(), 0U);
      told += round.pass_tokens() > 0 ? 1 : 0;
    }
    EXPECT_EQ(told > 0, scoring == Scoring::kUnmerged);
  }
}

}  // namespace
}  // namespace banyan
