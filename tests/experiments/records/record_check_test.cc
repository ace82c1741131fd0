// What a record may not say of itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_file.h"
#include "tests/support/made/made_records.h"

namespace banyan {
namespace {

using testing::HasSubstr;

constexpr int kMergedCell = 2;

// A record whose first round has a path and probes, changed by `change`, is
// refused so.
void ExpectRefused(const std::string& reason,
                   const std::function<void(records::PromptRecord&)>& change) {
  const MadeOptions options = {.batches = true, .probes = true};
  const records::Context context = MadeContext(options);
  int prompt = 0;
  records::PromptRecord record = MadePrompt(options, kMergedCell, prompt);
  while (record.rounds(0).path_size() < 2 || record.rounds(0).probes_size() < 2)
    record = MadePrompt(options, kMergedCell, ++prompt);
  ASSERT_TRUE(CheckRecord(record, context).ok())
      << CheckRecord(record, context);
  change(record);
  EXPECT_THAT(std::string(CheckRecord(record, context).message()),
              HasSubstr(reason));
}

TEST(RecordCheck, AcceptsWhatIsMadeUp) {
  const MadeOptions options = {.batches = true, .probes = true, .stores = true};
  const records::Context context = MadeContext(options);
  EXPECT_TRUE(CheckContext(context).ok()) << CheckContext(context);
  for (int prompt = 0; prompt < options.prompts; ++prompt)
    for (int cell = 0; cell < context.cells_size(); ++cell)
      EXPECT_TRUE(CheckRecord(MadePrompt(options, cell, prompt), context).ok());
}

TEST(RecordCheck, AcceptsABatchOfOnePrompt) {
  const MadeOptions options = {.batches = true};
  records::PromptRecord record = MadePrompt(options, kMergedCell, 0);
  record.set_batch_prompts(1);
  for (records::Round& round : *record.mutable_rounds()) round.set_sequences(1);
  const absl::Status checked = CheckRecord(record, MadeContext(options));
  EXPECT_TRUE(checked.ok()) << checked;
}

TEST(RecordCheck, RefusesTreesThatAreNone) {
  using Record = records::PromptRecord;
  ExpectRefused("round 0: a tree of 0 tokens", [](Record& record) {
    record.mutable_rounds(0)->clear_tokens();
  });
  ExpectRefused("node 1 has the parent 1", [](Record& record) {
    record.mutable_rounds(0)->set_parents(1, 1);
  });
  ExpectRefused("node 0 has a parent", [](Record& record) {
    record.mutable_rounds(0)->set_parents(0, 0);
  });
  ExpectRefused("target probabilities", [](Record& record) {
    record.mutable_rounds(0)->add_target_probability(0.5);
  });
}

TEST(RecordCheck, RefusesBatchesThatCannotBe) {
  using Record = records::PromptRecord;
  ExpectRefused("batch 0 has 3 prompts",
                [](Record& record) { record.set_batch(0); });
  ExpectRefused(" has 0 prompts",
                [](Record& record) { record.set_batch_prompts(0); });
  ExpectRefused("ended at 1 ns", [](Record& record) {
    record.set_admitted_ns(2);
    record.set_ended_ns(1);
  });
  ExpectRefused("admitted at -1 ns",
                [](Record& record) { record.set_admitted_ns(-1); });
  ExpectRefused("read in -1 ns",
                [](Record& record) { record.set_prefill_ns(-1); });
  ExpectRefused(
      "round 1: 4 sequences shared it, of a batch of 3",
      [](Record& record) { record.mutable_rounds(1)->set_sequences(4); });
  ExpectRefused("round 0: a pass of 1 tokens", [](Record& record) {
    record.mutable_rounds(0)->set_pass_tokens(1);
  });
}

TEST(RecordCheck, RefusesDrawsThatLeadNowhere) {
  using Record = records::PromptRecord;
  ExpectRefused("a draw list stands at node 999", [](Record& record) {
    record.mutable_rounds(0)->mutable_lists(0)->set_node(999);
  });
  ExpectRefused("of trunk 2", [](Record& record) {
    record.mutable_rounds(0)->mutable_lists(0)->set_trunk(2);
  });
  ExpectRefused("points to node 0", [](Record& record) {
    records::DrawList& list = *record.mutable_rounds(0)->mutable_lists(0);
    list.add_tokens(1);
    list.add_q(1);
    list.add_children(0);
  });
  ExpectRefused("masses", [](Record& record) {
    record.mutable_rounds(0)->mutable_lists(0)->add_q(1);
  });
}

TEST(RecordCheck, RefusesDrawsOutOfTime) {
  using Record = records::PromptRecord;
  // A list of two draws, and another of one.
  const auto number = [](Record& record,
                         const std::vector<std::vector<std::uint32_t>>& times) {
    records::Round& round = *record.mutable_rounds(0);
    round.clear_lists();
    for (const std::size_t draws : {2, 1}) {
      records::DrawList& list = *round.add_lists();
      list.set_trunk(round.lists_size() - 1);
      for (std::size_t draw = 0; draw < draws; ++draw) {
        list.add_tokens(1);
        list.add_q(1);
        list.add_children(-1);
      }
      const auto place = static_cast<std::size_t>(round.lists_size() - 1);
      for (const std::uint32_t time : times[place]) list.add_times(time);
    }
  };
  ExpectRefused("a list of 2 draws has 1 numbers in time", [&](Record& record) {
    number(record, {{0}, {1}});
  });
  ExpectRefused("draw 1 at node 0 has the number 0 in time, out of order",
                [&](Record& record) {
                  number(record, {{1, 0}, {2}});
                });
  ExpectRefused("draw 0 at node 0 has the number 1 in time, out of order",
                [&](Record& record) {
                  number(record, {{0, 1}, {1}});
                });
  ExpectRefused("2 of its 3 draws have a number in time", [&](Record& record) {
    number(record, {{0, 1}, {}});
  });
}

TEST(RecordCheck, RefusesStoresOfNobody) {
  using Record = records::PromptRecord;
  ExpectRefused("it taught 1 trunks of a cell of 2",
                [](Record& record) { record.add_learnt("x"); });
  ExpectRefused("a store is of trunk 2 of a cell of 2",
                [](Record& record) { record.add_stores()->set_trunk(2); });
}

TEST(RecordCheck, RefusesProbesThatAreNone) {
  using Record = records::PromptRecord;
  ExpectRefused("a probe stands at node 0", [](Record& record) {
    record.mutable_rounds(0)->mutable_probes(0)->set_node(0);
  });
  ExpectRefused("a probe stands at node 999", [](Record& record) {
    record.mutable_rounds(0)->add_probes()->set_node(999);
  });
  ExpectRefused("of trunk 2", [](Record& record) {
    record.mutable_rounds(0)->mutable_probes(0)->set_trunk(2);
  });
  ExpectRefused(", after ", [](Record& record) {
    records::Round& round = *record.mutable_rounds(0);
    round.mutable_probes(1)->set_node(round.probes(0).node());
  });
}

// A node is a probe, or drawn, or accepted.
TEST(RecordCheck, RefusesProbesThatSomebodyDrew) {
  using Record = records::PromptRecord;
  const auto make_probe = [](int node, Record& record) {
    records::Round& round = *record.mutable_rounds(0);
    round.clear_probes();
    round.add_probes()->set_node(node);
  };
  const auto first_drawn = [](const Record& record) {
    return record.rounds(0).path(0);
  };
  ExpectRefused(" stands below a probe", [&](Record& record) {
    make_probe(first_drawn(record), record);
  });
  const auto last_of_path = [](const Record& record) {
    const records::Round& round = record.rounds(0);
    return round.path(round.path_size() - 1);
  };
  const auto cut_below = [](int node, Record& record) {
    records::Round& round = *record.mutable_rounds(0);
    for (int i = node + 1; i < round.parents_size(); ++i)
      if (round.parents(i) == node) round.set_parents(i, node - 1);
  };
  ExpectRefused(", which is no child with its token", [&](Record& record) {
    const int node = last_of_path(record);
    cut_below(node, record);
    record.mutable_rounds(0)->clear_lists();
    records::DrawList& list = *record.mutable_rounds(0)->add_lists();
    list.set_node(record.rounds(0).parents(node));
    list.add_tokens(record.rounds(0).tokens(node));
    list.add_children(node);
    list.add_q(1);
    make_probe(node, record);
  });
  ExpectRefused(", which is no child of it", [&](Record& record) {
    const int node = last_of_path(record);
    cut_below(node, record);
    record.mutable_rounds(0)->clear_lists();
    make_probe(node, record);
  });
  ExpectRefused("a draw list stands at node", [&](Record& record) {
    records::Round& round = *record.mutable_rounds(0);
    round.mutable_lists(0)->set_node(round.probes(0).node());
  });
}

TEST(RecordCheck, RefusesAnOverlapThatIsNoProbability) {
  for (const double overlap :
       {-0.5, 1.5, std::numeric_limits<double>::quiet_NaN()})
    ExpectRefused(", no probability", [&](records::PromptRecord& record) {
      record.mutable_rounds(0)->mutable_lists(0)->set_overlap(overlap);
    });
}

TEST(RecordCheck, RefusesTokensThatAreCountedTwoWays) {
  using Record = records::PromptRecord;
  ExpectRefused("the path goes from node", [](Record& record) {
    record.mutable_rounds(0)->set_path(1, record.rounds(0).path(0));
  });
  ExpectRefused(
      "round 0: what it emitted is not the record's",
      [](Record& record) { record.mutable_rounds(0)->set_next(499'999); });
  ExpectRefused("its rounds emitted",
                [](Record& record) { record.add_tokens(1); });
  ExpectRefused("log-probabilities",
                [](Record& record) { record.add_log_probability(-1); });
}

TEST(RecordCheck, RefusesTimesAndCellsThatCannotBe) {
  using Record = records::PromptRecord;
  ExpectRefused("a phase took -5 ns", [](Record& record) {
    record.mutable_rounds(0)->set_verify_ns(-5);
  });
  ExpectRefused("2 trunks have 3 times", [](Record& record) {
    record.mutable_rounds(0)->add_draft_ns(1);
  });
  ExpectRefused("its cell 5 is none",
                [](Record& record) { record.set_cell(5); });
}

TEST(RecordCheck, RefusesStopRulesAndKindsOfDrawsThatHaveNoName) {
  using Record = records::PromptRecord;
  ExpectRefused("its stop rule is 9, which is unknown", [](Record& record) {
    record.set_stop(static_cast<records::Stop>(9));
  });
  ExpectRefused(
      "round 0: its stop rule is -1, which is unknown", [](Record& record) {
        record.mutable_rounds(0)->set_stop(static_cast<records::Stop>(-1));
      });
  ExpectRefused("the kind of draw at node 0 is 3, which is unknown",
                [](Record& record) {
                  record.mutable_rounds(0)->mutable_lists(0)->set_draws(
                      static_cast<records::DrawKind>(3));
                });
}

TEST(RecordCheck, RefusesMoreShardsThanAnExperimentIsCutInto) {
  records::Context context = MadeContext({});
  context.set_shards(kMostShards);
  EXPECT_TRUE(CheckContext(context).ok()) << CheckContext(context);
  context.set_shards(4'000'000'000);
  EXPECT_EQ(CheckContext(context).message(),
            "expected at most 4000001 shards, found 4000000000");
}

TEST(RecordCheck, RefusesCellsWithoutNamesOrBaselines) {
  records::Context context = MadeContext({});
  context.mutable_cells(1)->set_name("plain");
  EXPECT_THAT(std::string(CheckContext(context).message()),
              HasSubstr("two cells have the name 'plain'"));
  context = MadeContext({});
  context.mutable_cells(1)->set_baseline(2);  // which drafts
  EXPECT_THAT(std::string(CheckContext(context).message()),
              HasSubstr("cell 'chain': the baseline 2"));
  context = MadeContext({});
  context.mutable_cells(kMergedCell)->set_baseline(1);  // which drafts too
  EXPECT_THAT(std::string(CheckContext(context).message()),
              HasSubstr("the baseline 1"));
  context.mutable_cells(1)->set_baseline(9);
  EXPECT_FALSE(CheckContext(context).ok());
}

}  // namespace
}  // namespace banyan
