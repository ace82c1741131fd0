// Shards and experiments read together.
#include "experiments/records/record_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_file.h"
#include "tests/experiments/test_files.h"
#include "tests/support/made/made_records.h"

namespace banyan {
namespace {

class RecordSetTest : public FolderTest {};

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string Path(const std::string& name) {
  return absl::StrCat(OwnFolder(), "/", name, ".banyan");
}

std::string WriteShard(std::uint32_t shard, std::uint32_t shards) {
  const std::string path = Path(absl::StrCat("shard", shard));
  WriteMadeRecords(path, {.shard = shard, .shards = shards});
  return path;
}

// Another experiment with cells of the same names.
std::string WriteOther() {
  const std::string path = Path("other");
  records::Context context = MadeContext({});
  context.set_experiment_hash("aabbccddeeff");
  context.set_question("Another?");
  WriteMadeRecords(path, {}, context);
  return path;
}

std::string Message(const absl::StatusOr<RecordSet>& set) {
  return std::string(set.status().message());
}

TEST_F(RecordSetTest, OfShardsIsThatOfTheWholeRun) {
  const std::string whole = Path("whole");
  WriteMadeRecords(whole, {});
  const auto one = ReadRecordSet({whole}, false);
  const auto two = ReadRecordSet({WriteShard(1, 2), WriteShard(0, 2)}, false);
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_THAT(one->warnings, IsEmpty());
  EXPECT_THAT(two->warnings, IsEmpty());
  ASSERT_EQ(one->cells.size(), two->cells.size());
  for (std::size_t i = 0; i < one->cells.size(); ++i) {
    EXPECT_EQ(one->cells[i].name, two->cells[i].name);
    ASSERT_EQ(one->cells[i].pairs.size(), two->cells[i].pairs.size());
    for (std::size_t j = 0; j < one->cells[i].pairs.size(); ++j) {
      const PromptPair& a = one->cells[i].pairs[j];
      const PromptPair& b = two->cells[i].pairs[j];
      EXPECT_EQ(a.record->SerializeAsString(), b.record->SerializeAsString());
      EXPECT_EQ(a.baseline->SerializeAsString(),
                b.baseline->SerializeAsString());
    }
  }
}

TEST_F(RecordSetTest, PairsEveryPromptWithItsBaseline) {
  const std::string path = Path("run");
  WriteMadeRecords(path, {.gaps = true});
  const auto set = ReadRecordSet({OwnFolder()}, false);
  ASSERT_TRUE(set.ok()) << set.status();
  const CellRecords& plain = *set->Find("plain");
  EXPECT_EQ(plain.baseline, "");
  for (const PromptPair& pair : plain.pairs)
    EXPECT_EQ(pair.baseline, pair.record);
  const CellRecords& chain = *set->Find("chain");
  EXPECT_EQ(chain.baseline, "plain");
  ASSERT_EQ(chain.pairs.size(), 6);
  for (const PromptPair& pair : chain.pairs)
    if (pair.record->prompt() == 2)
      EXPECT_EQ(pair.baseline, nullptr);
    else
      EXPECT_EQ(pair.baseline->prompt(), pair.record->prompt());
  EXPECT_EQ(set->Find("no such cell"), nullptr);
}

TEST_F(RecordSetTest, WarnsOfWhatIsMissing) {
  WriteMadeRecords(Path("run"), {.gaps = true, .shards = 1});
  const auto gaps = ReadRecordSet({Path("run")}, false);
  ASSERT_TRUE(gaps.ok()) << gaps.status();
  EXPECT_THAT(gaps->warnings,
              ElementsAre("5 of 6 prompts are recorded for plain, "
                          "lossy_merged 1"));
  const auto shard = ReadRecordSet({WriteShard(1, 3)}, false);
  ASSERT_TRUE(shard.ok()) << shard.status();
  EXPECT_THAT(absl::StrJoin(shard->warnings, "\n"),
              AllOf(HasSubstr("shards 0, 2 of 3 are not among the files"),
                    HasSubstr("2 of 6 prompts")));
}

TEST_F(RecordSetTest, WarnsOfTornTailsAndPassesOverFilesWithoutContext) {
  WriteMadeRecords(Path("run"), {});
  WriteText(Path("run"), FileText(Path("run")) + "abc");
  WriteText(Path("begun"), "BANYANR1");
  const auto set = ReadRecordSet({OwnFolder()}, false);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->files.size(), 1);
  EXPECT_THAT(absl::StrJoin(set->warnings, "\n"),
              AllOf(HasSubstr("run.banyan: ends in a torn entry (3 bytes)"),
                    HasSubstr("begun.banyan: ends before its context")));
  EXPECT_TRUE(absl::IsDataLoss(ReadRecordSet({Path("begun")}, false).status()));
}

TEST_F(RecordSetTest, RefusesAPromptThatIsRecordedTwice) {
  WriteMadeRecords(Path("a"), {});
  WriteMadeRecords(Path("b"), {});
  EXPECT_THAT(Message(ReadRecordSet({OwnFolder()}, false)),
              AllOf(HasSubstr("a.banyan"), HasSubstr("b.banyan"),
                    HasSubstr("prompt 0 of cell 'chain'")));
}

TEST_F(RecordSetTest, RefusesDifferentExperimentsUnlessMixed) {
  WriteMadeRecords(Path("run"), {});
  const std::vector<std::string> paths = {Path("run"), WriteOther()};
  EXPECT_THAT(Message(ReadRecordSet(paths, false)),
              AllOf(HasSubstr("run.banyan"), HasSubstr("other.banyan"),
                    HasSubstr("Another?"), HasSubstr("--mixed")));
  const auto mixed = ReadRecordSet(paths, true);
  ASSERT_TRUE(mixed.ok()) << mixed.status();
  EXPECT_EQ(mixed->cells.size(), 10);
  ASSERT_NE(mixed->Find("chain@aabbccdd"), nullptr);
  ASSERT_NE(mixed->Find("chain@00112233"), nullptr);
  EXPECT_EQ(mixed->Find("chain@aabbccdd")->baseline, "plain@aabbccdd");
}

TEST_F(RecordSetTest, RefusesAnExperimentWithOtherCells) {
  WriteMadeRecords(Path("a"), {.shard = 0, .shards = 2});
  records::Context context = MadeContext({.shard = 1, .shards = 2});
  context.mutable_cells(1)->set_name("another");
  WriteMadeRecords(Path("b"), {.shard = 1, .shards = 2}, context);
  EXPECT_THAT(Message(ReadRecordSet({OwnFolder()}, false)),
              AllOf(HasSubstr("a.banyan"), HasSubstr("b.banyan"),
                    HasSubstr("other cells")));
}

TEST_F(RecordSetTest, RefusesShardsThatReadOtherFiles) {
  const auto with = [](std::uint32_t shard, const std::string& folder,
                       const std::string& fingerprint) {
    const MadeOptions options = {.shard = shard, .shards = 2};
    records::Context context = MadeContext(options);
    records::File& file = *context.mutable_cells(1)->add_files();
    file.set_path(folder + "/model/config.json");
    file.set_fingerprint(fingerprint);
    WriteMadeRecords(Path(absl::StrCat("shard", shard)), options, context);
  };
  with(0, "here", "1 2");
  with(1, "there", "1 3");
  EXPECT_THAT(Message(ReadRecordSet({OwnFolder()}, false)),
              AllOf(HasSubstr("shard1.banyan was made with another "
                              "there/model/config.json than "),
                    HasSubstr("shard0.banyan")));
  with(1, "there", "1 2");
  EXPECT_TRUE(ReadRecordSet({OwnFolder()}, false).ok());
}

// Records from before cells listed their files.
TEST_F(RecordSetTest, HoldsOldShardsAgainstTheFingerprintsOfTheirWeights) {
  const auto with = [](std::uint32_t shard, const std::string& fingerprint) {
    const MadeOptions options = {.shard = shard, .shards = 2};
    records::Context context = MadeContext(options);
    context.mutable_cells(1)->mutable_target()->set_fingerprint(fingerprint);
    WriteMadeRecords(Path(absl::StrCat("shard", shard)), options, context);
  };
  with(0, "00");
  with(1, "01");
  EXPECT_THAT(Message(ReadRecordSet({OwnFolder()}, false)),
              HasSubstr("was made with another no/such/directory than"));
}

TEST_F(RecordSetTest, RefusesFoldersWithoutRecords) {
  EXPECT_THAT(Message(ReadRecordSet({OwnFolder()}, false)),
              HasSubstr("has no record file"));
  EXPECT_THAT(Message(ReadRecordSet({"no/such/folder"}, false)),
              HasSubstr("no/such/folder"));
}

// Half of a run of made records, with another number of threads.
std::string WriteShardWithThreads(std::uint32_t shard, std::uint32_t threads) {
  const std::string path = Path(absl::StrCat("shard", shard));
  records::Context context = MadeContext({.shard = shard, .shards = 2});
  context.mutable_machine()->set_threads(threads);
  WriteMadeRecords(path, {.shard = shard, .shards = 2}, context);
  return path;
}

TEST_F(RecordSetTest, TellsUnlikeMachinesAndSplitsTheirTimes) {
  const std::vector<std::string> paths = {WriteShardWithThreads(0, 2),
                                          WriteShardWithThreads(1, 1)};
  auto set = ReadRecordSet(paths, false);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->warnings,
              ElementsAre(absl::StrCat(
                  paths[1], " (machine 2) and ", paths[0],
                  " (machine 1): times are not alike (threads: 1 | 2)")));
  EXPECT_THAT(set->machines, SizeIs(2));
  EXPECT_TRUE(SplitByMachine(*set));
  ASSERT_THAT(set->cells, SizeIs(10));
  const CellRecords& chain = *set->Find("chain, machine=2");
  EXPECT_EQ(chain.baseline, "plain, machine=2");
  EXPECT_EQ(set->Find(chain, 0), set->Find("plain, machine=2"));
  EXPECT_THAT(chain.pairs, SizeIs(3));
  for (const PromptPair& pair : chain.pairs)
    EXPECT_EQ(pair.record->prompt() % 2, 1);
}

TEST_F(RecordSetTest, TellsEveryFactOfAnotherMachineOrBuild) {
  const auto told = [](void (*change)(records::Context & context)) {
    records::Context context = MadeContext({.shard = 1, .shards = 2});
    change(context);
    WriteMadeRecords(Path("shard1"), {.shard = 1, .shards = 2}, context);
    const auto set = ReadRecordSet({WriteShard(0, 2), Path("shard1")}, false);
    return absl::StrJoin(set->warnings, "\n");
  };
  EXPECT_THAT(told([](auto& made) { made.mutable_build()->set_revision("b"); }),
              HasSubstr("(revision: b | 0123456)"));
  EXPECT_THAT(told([](auto& made) { made.mutable_build()->set_compiler("b"); }),
              HasSubstr("(compiler: b | made up)"));
  EXPECT_THAT(told([](auto& made) { made.mutable_build()->set_flags("b"); }),
              HasSubstr("(flags: b | -)"));
  EXPECT_THAT(told([](auto& made) { made.mutable_build()->set_type("b"); }),
              HasSubstr("(build type: b | -)"));
  EXPECT_THAT(told([](auto& made) { made.mutable_machine()->set_cpu("b"); }),
              HasSubstr("(cpu: b | a processor)"));
  EXPECT_THAT(told([](auto& made) { made.mutable_machine()->set_fast(true); }),
              HasSubstr("(device: cpu, fast | cpu)"));
  EXPECT_THAT(told([](auto& made) { made.mutable_machine()->set_cores(4); }),
              HasSubstr("(cores: 4 | 0)"));
}

TEST_F(RecordSetTest, OfOneMachineIsNotSplit) {
  auto set = ReadRecordSet({WriteShard(0, 2), WriteShard(1, 2)}, false);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_FALSE(SplitByMachine(*set));
  EXPECT_THAT(set->cells, SizeIs(5));
}

// The first file has the baselines, the second all other cells.
TEST_F(RecordSetTest, PairsNothingAcrossMachines) {
  std::vector<std::string> paths;
  for (const bool drafting : {false, true}) {
    records::Context context = MadeContext({});
    context.mutable_machine()->set_threads(drafting ? 2 : 1);
    paths.push_back(Path(drafting ? "drafting" : "plain"));
    const auto writer = RecordWriter::Create(paths.back(), context);
    for (int prompt = 0; prompt < 6; ++prompt)
      for (int cell = 0; cell < context.cells_size(); ++cell) {
        if ((context.cells(cell).trunks_size() > 0) != drafting) continue;
        ASSERT_TRUE((*writer)->Append(MadePrompt({}, cell, prompt)).ok());
      }
  }
  const auto set = ReadRecordSet(paths, false);
  ASSERT_TRUE(set.ok()) << set.status();
  for (const PromptPair& pair : set->Find("chain")->pairs)
    EXPECT_EQ(pair.baseline, nullptr);
  EXPECT_THAT(absl::StrJoin(set->warnings, "\n"),
              HasSubstr("18 records not paired with the baseline's"));
}

TEST_F(RecordSetTest, TellsABusyMachine) {
  records::Context context = MadeContext({});
  context.mutable_machine()->set_cores(2);
  context.mutable_machine()->set_load(3.2);
  WriteMadeRecords(Path("run"), {}, context);
  const auto set = ReadRecordSet({Path("run")}, false);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->loaded,
              HasSubstr("run.banyan: the load was 3.2 on 2 cores when"));
  EXPECT_THAT(set->warnings, testing::IsEmpty());
  // Of many files it is one line.
  for (const std::uint32_t shard : {0U, 1U, 2U}) {
    const MadeOptions options = {.shard = shard, .shards = 3};
    records::Context busy = MadeContext(options);
    busy.mutable_machine()->set_cores(2);
    busy.mutable_machine()->set_load(3.2);
    busy.mutable_machine()->set_fast(true);
    WriteMadeRecords(Path(absl::StrCat("shard", shard)), options, busy);
  }
  const auto shards =
      ReadRecordSet({Path("shard0"), Path("shard1"), Path("shard2")}, false);
  ASSERT_TRUE(shards.ok()) << shards.status();
  EXPECT_THAT(shards->loaded, HasSubstr("; the same holds for 2 more files"));
  EXPECT_THAT(shards->warnings,
              ElementsAre(HasSubstr("; the same holds for 2 more files")));
}

// A file with all prompts of these cells, whose times are `slower` times as
// long.
std::string WriteCells(std::uint32_t shard, const std::vector<int>& cells,
                       double slower, std::uint32_t threads) {
  const std::string path = Path(absl::StrCat("shard", shard));
  const MadeOptions options = {.slower = slower, .slower_machine = slower};
  records::Context context = MadeContext(options);
  context.set_shard(shard);
  context.set_shards(2);
  context.set_cut(records::CELLS);
  context.mutable_machine()->set_threads(threads);
  const auto writer = RecordWriter::Create(path, context);
  for (int prompt = 0; prompt < options.prompts; ++prompt)
    for (int cell : cells)
      EXPECT_TRUE((*writer)->Append(MadePrompt(options, cell, prompt)).ok());
  return path;
}

double TargetNs(const records::PromptRecord& record) {
  double sum = 0;
  for (const records::Round& round : record.rounds())
    sum += static_cast<double>(round.target_ns());
  return sum;
}

TEST_F(RecordSetTest, HoldsACellAgainstTheBaselineOfItsFile) {
  const std::vector<std::string> paths = {WriteCells(0, {0, 1, 3, 4}, 1, 2),
                                          WriteCells(1, {0, 2}, 8, 2)};
  const auto set = ReadRecordSet(paths, false);
  ASSERT_TRUE(set.ok()) << set.status();
  for (const auto& [name, slower] : {std::pair("chain", 1), {"merged", 8}})
    for (const PromptPair& pair : set->Find(name)->pairs) {
      ASSERT_NE(pair.baseline, nullptr);
      const records::PromptRecord made =
          MadePrompt({}, 0, static_cast<int>(pair.record->prompt()));
      EXPECT_NEAR(TargetNs(*pair.baseline) / TargetNs(made), slower, 0.1);
    }
  // The baseline's own row has a prompt once, from the first file.
  EXPECT_THAT(set->Find("plain")->pairs, SizeIs(6));
  EXPECT_THAT(set->warnings,
              ElementsAre(HasSubstr("the cells were divided among 2 shards")));
}

TEST_F(RecordSetTest, OfTwoMachinesHasBothBaselines) {
  auto set = ReadRecordSet(
      {WriteCells(0, {0, 1, 3, 4}, 1, 2), WriteCells(1, {0, 2}, 8, 1)}, false);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->Find("plain")->pairs, SizeIs(12));
  EXPECT_TRUE(SplitByMachine(*set));
  for (const std::string machine : {"1", "2"})
    EXPECT_THAT(set->Find("plain, machine=" + machine)->pairs, SizeIs(6));
  EXPECT_EQ(set->Find("merged, machine=1"), nullptr);
  for (const PromptPair& pair : set->Find("merged, machine=2")->pairs)
    EXPECT_EQ(pair.baseline->prompt(), pair.record->prompt());
}

TEST_F(RecordSetTest, RefusesShardsOfPromptsBesideShardsOfCells) {
  WriteShard(1, 2);
  std::string path = Path("cells");
  records::Context context = MadeContext({.shard = 0, .shards = 2});
  context.set_cut(records::CELLS);
  WriteMadeRecords(path, {.shard = 0, .shards = 2}, context);
  EXPECT_THAT(Message(ReadRecordSet({OwnFolder()}, false)),
              HasSubstr("cut into shards by prompts and by cells"));
}

TEST_F(RecordSetTest, TellsShardsThatAreMissingOrEmpty) {
  for (const std::uint32_t shard : {1U, 5U, 6U}) {
    const MadeOptions options = {.shard = shard, .shards = 9};
    WriteMadeRecords(Path(absl::StrCat("shard", shard)), options);
  }
  const auto set = ReadRecordSet({OwnFolder()}, false);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->warnings,
              testing::IsSupersetOf(
                  {"shards 0, 2 to 4, 7, 8 of 9 are not among the files",
                   "shard 6 of 9 has no record yet"}));
}

// Cells point into the files: the pointers must stay valid when the set moves.
TEST_F(RecordSetTest, CanBeMoved) {
  WriteMadeRecords(Path("run"), {});
  auto read = ReadRecordSet({OwnFolder()}, false);
  ASSERT_TRUE(read.ok()) << read.status();
  const RecordSet set = *std::move(read);
  EXPECT_EQ(set.cells[1].cell, &set.files[0].context.cells(1));
  EXPECT_EQ(set.cells[1].context, &set.files[0].context);
}

}  // namespace
}  // namespace banyan
