// How often drafts are accepted, counted from records.
#include "experiments/plan/acceptance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_file.h"
#include "experiments/records/record_set.h"
#include "experiments/report/answer/chain_lengths.h"
#include "experiments/report/stated_rates.h"
#include "nlohmann/json.hpp"
#include "tests/experiments/metrics/hand_made.h"
#include "tests/experiments/test_files.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CountedAcceptance : public FolderTest {
 protected:
  // One prompt in each of the cells; the first is everybody's baseline.
  RecordSet SetOf(std::vector<records::Cell> cells,
                  std::vector<records::PromptRecord> prompts) {
    records::Context context;
    context.set_experiment_hash("0011");
    context.mutable_workload()->set_prompts(1);
    context.mutable_workload()->set_path("configs/../some/prompts.jsonl");
    context.set_shards(1);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      cells[i].set_name(absl::StrCat("cell ", i));
      cells[i].set_baseline(0);
      cells[i].mutable_target()->set_name("large");
      cells[i].mutable_target()->set_weights("q8");
      *context.add_cells() = cells[i];
    }
    const std::string path = absl::StrCat(OwnFolder(), "/", ++sets_, ".banyan");
    auto writer = RecordWriter::Create(path, context);
    Check(writer.ok(), writer.status().ToString());
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      prompts[i].set_cell(static_cast<std::uint32_t>(i));
      // Every trunk has its times.
      for (records::Round& round : *prompts[i].mutable_rounds())
        while (round.draft_ns_size() < cells[i].trunks_size())
          round.add_draft_ns(1);
      const auto status = (*writer)->Append(prompts[i]);
      Check(status.ok(), status.ToString());
    }
    writer->reset();
    auto set = ReadRecordSet({path}, false);
    Check(set.ok(), set.status().ToString());
    return *std::move(set);
  }

 private:
  int sets_ = 0;
};

// Rounds of a chain: both accepted, the first, none, and one without a draft.
records::PromptRecord Chains() {
  records::PromptRecord record;
  AddRound({-1, 0, 1}, {{0, 0, {1}}, {1, 0, {2}}}, {1, 2}, record);
  AddRound({-1, 0, 1}, {{0, 0, {1}}, {1, 0, {2}}}, {1}, record);
  AddRound({-1, 0, 1}, {{0, 0, {1}}, {1, 0, {2}}}, {}, record);
  AddRound({-1}, {{0, 0, {}}}, {}, record);
  return record;
}

// Rounds of three draws: the third is accepted, then one that was drawn twice,
// by its first draw.
records::PromptRecord Wide() {
  records::PromptRecord record;
  AddRound({-1, 0, 0, 0}, {{0, 0, {1, 2, 3}}}, {3}, record);
  AddRound({-1, 0, 0}, {{0, 0, {1, 2, 2}}}, {2}, record);
  return record;
}

records::Cell OneDrafter() {
  records::Cell cell = CellOf(1);
  cell.set_lossless(true);
  cell.set_temperature(0.5);  // at 0 its texts would have to be plain ones
  return cell;
}

TEST_F(CountedAcceptance, IsByDepthAndRankOfAllCellsOfADrafter) {
  records::Cell hot = OneDrafter();
  hot.set_temperature(1);
  const RecordSet set = SetOf({CellOf(0), OneDrafter(), OneDrafter(), hot},
                              {Plain(3), Chains(), Wide(), Chains()});
  const auto tables = CountAcceptance(set);
  ASSERT_TRUE(tables.ok()) << tables.status();
  ASSERT_EQ(tables->size(), 2u);  // a temperature each
  const AcceptanceTable& table = tables->front();
  EXPECT_EQ(table.key.target, "large");
  EXPECT_EQ(table.key.weights, "q8");
  EXPECT_EQ(table.key.drafter, "model");
  EXPECT_EQ(table.key.draws, "independent");
  EXPECT_EQ(table.rounds, 6);
  EXPECT_THAT(table.reached, ElementsAre(ElementsAre(5, 2, 2), ElementsAre(2)));
  EXPECT_THAT(table.accepted,
              ElementsAre(ElementsAre(2, 1, 1), ElementsAre(1)));
  EXPECT_EQ(tables->back().rounds, 4);
  EXPECT_EQ(tables->back().key.temperature, 1);
  const std::string text = ToYaml(*tables, set);
  EXPECT_THAT(text,
              HasSubstr("1 prompt of some/prompts.jsonl; experiment 0011"));
}

// Three of the four rounds of each cell have draft tokens.
TEST_F(CountedAcceptance, IsExportedOfTheRoundsWithDraftTokens) {
  records::PromptRecord probed = Probed();
  AddRound({-1, 0}, {{0, 0, {1}}}, {}, probed);
  AddRound({-1, 0, 1}, {{0, 0, {1}}, {1, 0, {2}}}, {1}, probed);
  const RecordSet set = SetOf({CellOf(0), OneDrafter(), OneDrafter()},
                              {Plain(3), Chains(), probed});
  std::ostringstream out;
  ASSERT_TRUE(ExportAcceptance(set, out).ok());
  const nlohmann::json rates = nlohmann::json::parse(out.str());
  EXPECT_EQ(rates.size(), 2U) << "plain decoding drafts nothing";
  for (const char* cell : {"cell 1", "cell 2"}) {
    EXPECT_EQ(rates.at(cell).at("num_speculative_tokens"), 2);
    EXPECT_EQ(rates.at(cell).at("synthetic_acceptance_rates"),
              (std::vector<double>{2. / 3, 1. / 3}))
        << cell;
  }
}

// Options make another drafter of the same name.
TEST_F(CountedAcceptance, RefusesTwoDraftersOfOneName) {
  records::Cell other = OneDrafter();
  other.mutable_trunks(0)->set_identity("0123456789abcdef");
  const RecordSet set =
      SetOf({CellOf(0), OneDrafter(), other}, {Plain(3), Chains(), Chains()});
  EXPECT_THAT(
      std::string(CountAcceptance(set).status().message()),
      HasSubstr("cells 'cell 1' and 'cell 2' have drafters called model "
                "with other options or models"));
}

TEST_F(CountedAcceptance, LeavesLossyMethodsAndSeveralDraftersOut) {
  records::Cell lossy = OneDrafter();
  lossy.set_lossless(false);
  records::Cell two = CellOf(2);
  two.set_lossless(true);
  const RecordSet set =
      SetOf({CellOf(0), lossy, two}, {Plain(3), Chains(), Tree()});
  EXPECT_THAT(
      std::string(CountAcceptance(set).status().message()),
      HasSubstr(
          "no draft tokens found in lossless cells with exactly one drafter"));
}

}  // namespace
}  // namespace banyan
