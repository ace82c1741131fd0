// What is counted in records for later experiments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "experiments/plan/costs.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_file.h"
#include "experiments/records/record_set.h"
#include "experiments/report/stated_costs.h"
#include "experiments/run/drafter_costs.h"
#include "nlohmann/json.hpp"
#include "tests/experiments/metrics/hand_made.h"
#include "tests/experiments/test_files.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CountedCosts : public FolderTest {
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

TEST_F(CountedCosts, AreByDepthAndRankOfAllCellsOfADrafter) {
  records::Cell hot = OneDrafter();
  hot.set_temperature(1);
  const RecordSet set = SetOf({CellOf(0), OneDrafter(), OneDrafter(), hot},
                              {Plain(3), Chains(), Wide(), Chains()});
  const auto costs = CountCosts(set);
  ASSERT_TRUE(costs.ok()) << costs.status();
  ASSERT_EQ(costs->acceptance.size(), 2U);  // a temperature each
  const AcceptanceTable& table = costs->acceptance.front();
  EXPECT_EQ(table.setting.target, "large");
  EXPECT_EQ(table.setting.weights, "q8");
  EXPECT_EQ(table.drafters.at(0).label, "model");
  EXPECT_EQ(table.drafters.at(0).draws, "independent");
  EXPECT_EQ(table.rounds, 6);
  // A draw is judged where the draws before it were refused.
  ASSERT_EQ(table.counts.size(), 2U);
  EXPECT_THAT(table.counts[0].judged, ElementsAre(5, 2, 1));
  EXPECT_THAT(table.counts[0].accepted, ElementsAre(2, 1, 1));
  EXPECT_EQ(table.counts[1].depth, 2);
  EXPECT_THAT(table.counts[1].judged, ElementsAre(2));
  EXPECT_THAT(table.counts[1].accepted, ElementsAre(1));
  EXPECT_EQ(costs->acceptance.back().rounds, 4);
  EXPECT_EQ(costs->acceptance.back().setting.temperature, 1);
  EXPECT_EQ(table.from.source,
            "records on 1 prompt of some/prompts.jsonl, experiment 0011");
}

// A round of two drafters: the first draws 7 and 8, the second 8 and 9. In the
// order of time 7 is refused, the second drafter's 8 is accepted, and what
// comes after it is not judged.
TEST_F(CountedCosts, OfMergedCandidatesFollowTheOrderOfTime) {
  records::Cell two = CellOf(2);
  two.set_lossless(true);
  two.set_temperature(.5);
  two.mutable_trunks(0)->set_label("first");
  two.mutable_trunks(1)->set_label("second");
  records::PromptRecord record;
  records::Round& round =
      AddRound({-1, 0, 0, 0}, {{0, 0, {1, 2}}, {0, 1, {2, 3}}}, {2}, record);
  const std::uint32_t tokens[2][2] = {{7, 8}, {8, 9}};
  const std::uint32_t times[2][2] = {{0, 2}, {1, 3}};
  for (int list = 0; list < 2; ++list) {
    round.mutable_lists(list)->clear_times();
    for (int draw = 0; draw < 2; ++draw) {
      round.mutable_lists(list)->set_tokens(draw, tokens[list][draw]);
      round.mutable_lists(list)->add_times(times[list][draw]);
    }
  }
  for (int node = 1; node <= 3; ++node)
    round.set_tokens(node, static_cast<std::uint32_t>(6 + node));
  AcceptanceCounter counter;
  ASSERT_TRUE(counter.Add(two, record).ok());
  const std::vector<AcceptanceTable> tables = counter.Tables();
  ASSERT_EQ(tables.size(), 1U);
  ASSERT_EQ(tables[0].drafters.size(), 2U);
  EXPECT_EQ(tables[0].drafters[1].label, "second");
  ASSERT_EQ(tables[0].counts.size(), 2U);
  const CandidateCounts& first = tables[0].counts[0];
  EXPECT_EQ(first.drafter, 0);
  EXPECT_THAT(first.also, IsEmpty()) << "nobody else proposed 7";
  EXPECT_THAT(first.judged, ElementsAre(1));
  EXPECT_THAT(first.accepted, ElementsAre(0));
  const CandidateCounts& second = tables[0].counts[1];
  EXPECT_EQ(second.drafter, 1);
  EXPECT_THAT(second.also, ElementsAre(0));
  EXPECT_THAT(second.judged, ElementsAre(1));
  EXPECT_THAT(second.accepted, ElementsAre(1));
}

// Two heads, two candidates each: the text is 5 6 7. At its end there is no
// position for the second head.
TEST_F(CountedCosts, OfHeadsAreByPositionOfTheText) {
  records::PromptRecord record;
  const auto add = [&](std::uint32_t a, std::uint32_t b, std::uint32_t c,
                       std::uint32_t d) {
    records::Round& round = AddRound(
        {-1, 0, 1, 1, 0}, {{0, 0, {1, 4}}, {1, 0, {2, 3}}}, {}, record);
    round.mutable_lists(0)->set_tokens(0, a);
    round.mutable_lists(0)->set_tokens(1, b);
    round.mutable_lists(1)->set_tokens(0, c);
    round.mutable_lists(1)->set_tokens(1, d);
    round.set_emitted(1);
  };
  add(4, 5, 6, 9);  // the second candidate, then the first
  add(6, 1, 1, 2);  // the first, then none
  add(1, 2, 3, 4);  // none; the text ends here
  record.clear_tokens();
  for (const std::uint32_t token : {5U, 6U, 7U}) record.add_tokens(token);
  const HeadTable table = CountHeads(OneDrafter(), {record});
  EXPECT_THAT(table.positions, ElementsAre(3, 2));
  EXPECT_THAT(table.hits, ElementsAre(ElementsAre(1, 1), ElementsAre(1, 0)));
}

// Three of the four rounds of each cell have draft tokens.
TEST_F(CountedCosts, AreExportedOfTheRoundsWithDraftTokens) {
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
TEST_F(CountedCosts, RefuseTwoDraftersOfOneName) {
  records::Cell other = OneDrafter();
  other.mutable_trunks(0)->set_identity("0123456789abcdef");
  const RecordSet set =
      SetOf({CellOf(0), OneDrafter(), other}, {Plain(3), Chains(), Chains()});
  EXPECT_THAT(
      std::string(CountCosts(set).status().message()),
      HasSubstr("cells 'cell 1' and 'cell 2' have drafters called model "
                "with other options or models"));
}

TEST_F(CountedCosts, LeaveLossyMethodsOut) {
  records::Cell lossy = OneDrafter();
  lossy.set_lossless(false);
  const RecordSet set = SetOf({CellOf(0), lossy}, {Plain(3), Chains()});
  EXPECT_THAT(std::string(CountCosts(set).status().message()),
              HasSubstr("no draft tokens found in lossless cells"));
}

}  // namespace
}  // namespace banyan
