// Record files: what is whole is read, what is torn is cut and said, what is
// damaged is refused.
#include "experiments/records/record_file.h"

#include <gmock/gmock.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "experiments/records/record.pb.h"
#include "tests/experiments/test_files.h"
#include "tests/support/few_bytes.h"
#include "tests/support/made/made_records.h"

namespace banyan {
namespace {

class RecordFileTest : public FolderTest {};
class RecordWriterTest : public FolderTest {};

using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t kMagicBytes = 8;

// Two cells and little else: tests write the file once a byte.
records::Context SmallContext() {
  records::Context context = MadeContext({});
  context.clear_build();
  context.clear_workload();
  context.clear_experiment();
  context.mutable_cells()->DeleteSubrange(2, context.cells_size() - 2);
  for (records::Cell& cell : *context.mutable_cells()) {
    cell.clear_axes();
    cell.clear_target();
  }
  return context;
}

records::PromptRecord Record(int cell) {
  return MadePrompt({.tokens = 1}, cell, /*prompt=*/0);
}

std::string Path() { return OwnFolder() + "/run.banyan"; }

// A file's bytes, and where its entries end: the context, then the prompts.
struct Entries {
  std::string bytes;
  std::vector<std::size_t> ends;
};

Entries WriteEntries(const records::Context& context,
                     const std::vector<records::PromptRecord>& prompts) {
  Entries file;
  const auto note_end = [&file] {
    file.bytes = FileText(Path());
    file.ends.push_back(file.bytes.size());
  };
  auto writer = RecordWriter::Create(Path(), context);
  EXPECT_TRUE(writer.ok()) << writer.status();
  note_end();
  for (const records::PromptRecord& prompt : prompts) {
    EXPECT_TRUE((*writer)->Append(prompt).ok());
    note_end();
  }
  return file;
}

Entries WriteThreeEntries() {
  return WriteEntries(SmallContext(), {Record(0), Record(1)});
}

// The same message with a field that cannot be read.
template <typename Message>
Message WithUnreadable(int field, Message message) {
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(
      field, "\xff");
  return message;
}

absl::StatusOr<RecordFile> ReadBytes(const std::string& bytes) {
  WriteText(Path(), bytes);
  return ReadRecordFile(Path());
}

// Whether a file holds the first `count` of the two records, bit for bit.
bool HoldsRecords(const RecordFile& file, std::size_t count) {
  if (file.prompts.size() != count) return false;
  for (std::size_t i = 0; i < count; ++i)
    if (file.prompts[i].SerializeAsString() !=
        Record(static_cast<int>(i)).SerializeAsString())
      return false;
  return file.context.SerializeAsString() == SmallContext().SerializeAsString();
}

TEST_F(RecordFileTest, GivesBackWhatWasWritten) {
  const Entries written = WriteThreeEntries();
  const auto file = ReadRecordFile(Path());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(HoldsRecords(*file, 2));
  EXPECT_EQ(file->path, Path());
  EXPECT_EQ(static_cast<std::size_t>(file->whole_bytes), written.ends.back());
  EXPECT_EQ(file->torn_bytes, 0);
}

// Older builds numbered no draws, whose order was list after list.
TEST_F(RecordFileTest, NumbersDrawsThatHaveNoNumbers) {
  records::Context context = SmallContext();
  context.mutable_cells(1)->clear_trunks();
  for (int trunk = 0; trunk < 2; ++trunk)
    context.mutable_cells(1)->add_trunks()->set_drafter("table");
  records::PromptRecord record;
  record.set_cell(1);
  records::Round& round = *record.add_rounds();
  round.add_tokens(1);
  round.add_parents(-1);
  for (int trunk = 0; trunk < 2; ++trunk) {
    round.add_draft_ns(1);
    records::DrawList& list = *round.add_lists();
    list.set_trunk(trunk);
    for (int draw = 0; draw < 2; ++draw) {
      list.add_tokens(7);
      list.add_children(-1);
      list.add_q(0);
    }
  }
  const auto times_of = [&](const records::PromptRecord& written) {
    const Entries entries = WriteEntries(context, {written});
    const auto file = ReadRecordFile(Path());
    EXPECT_TRUE(file.ok()) << file.status();
    std::vector<std::uint32_t> times;
    for (const records::DrawList& list : file->prompts[0].rounds(0).lists())
      times.insert(times.end(), list.times().begin(), list.times().end());
    std::filesystem::remove(Path());
    return times;
  };
  EXPECT_THAT(times_of(record), testing::ElementsAre(0, 1, 2, 3));
  for (const std::uint32_t time : {0, 3})
    round.mutable_lists(0)->add_times(time);
  for (const std::uint32_t time : {1, 2})
    round.mutable_lists(1)->add_times(time);
  EXPECT_THAT(times_of(record), testing::ElementsAre(0, 3, 1, 2));
}

TEST_F(RecordFileTest, IsReadToItsLastWholeEntryWhereverItWasCut) {
  const Entries whole = WriteThreeEntries();
  for (std::size_t length = 0; length < whole.bytes.size(); ++length) {
    const auto file = ReadBytes(whole.bytes.substr(0, length));
    std::size_t entries = 0;
    while (whole.ends[entries] <= length) ++entries;
    if (entries == 0) {
      EXPECT_TRUE(absl::IsDataLoss(file.status())) << length;
      EXPECT_THAT(std::string(file.status().message()),
                  HasSubstr("run.banyan"));
      continue;
    }
    ASSERT_TRUE(file.ok()) << length << " " << file.status();
    EXPECT_TRUE(HoldsRecords(*file, entries - 1)) << length;
    EXPECT_EQ(static_cast<std::size_t>(file->whole_bytes),
              whole.ends[entries - 1]);
    EXPECT_EQ(static_cast<std::size_t>(file->torn_bytes),
              length - whole.ends[entries - 1]);
  }
}

TEST_F(RecordFileTest, IsRefusedIfAnyOneByteIsAnother) {
  const Entries whole = WriteThreeEntries();
  for (std::size_t place = 0; place < whole.bytes.size(); ++place)
    for (const int flip : {0x01, 0x80}) {
      std::string bytes = whole.bytes;
      bytes[place] = static_cast<char>(bytes[place] ^ flip);
      const auto file = ReadBytes(bytes);
      EXPECT_FALSE(file.ok()) << "byte " << place << ", flip " << flip;
      if (place < kMagicBytes) {
        EXPECT_THAT(std::string(file.status().message()),
                    HasSubstr("is no record file"));
      }
    }
}

// In a torn tail nothing is whole, and nothing of it may count.
TEST_F(RecordFileTest, GivesNothingOfATornTailWhateverItsBytes) {
  const Entries whole = WriteThreeEntries();
  const std::string torn = whole.bytes.substr(0, whole.bytes.size() - 1);
  for (std::size_t place = whole.ends[1]; place < torn.size(); ++place) {
    std::string bytes = torn;
    bytes[place] = static_cast<char>(bytes[place] ^ 0x10);
    const auto file = ReadBytes(bytes);
    if (!file.ok()) continue;  // its length is damaged
    EXPECT_TRUE(HoldsRecords(*file, 1)) << place;
    EXPECT_EQ(static_cast<std::size_t>(file->torn_bytes),
              torn.size() - whole.ends[1]);
  }
}

TEST_F(RecordFileTest, NamesTheByteOfADamagedEntry) {
  const Entries whole = WriteThreeEntries();
  std::string bytes = whole.bytes;
  bytes[whole.ends[0] + 20] ^= 1;
  const auto file = ReadBytes(bytes);
  EXPECT_THAT(std::string(file.status().message()),
              AllOf(HasSubstr("run.banyan: the entry at byte " +
                              std::to_string(whole.ends[0])),
                    HasSubstr("checksum")));
}

TEST_F(RecordFileTest, RefusesForeignFilesAndFolders) {
  for (const char* text : {"question: why\n", "BANYANR2", "\0\0\0\0\0\0\0\0x"})
    EXPECT_THAT(std::string(ReadBytes(text).status().message()),
                testing::AnyOf(HasSubstr("is no record file"),
                               HasSubstr("ends before its context")))
        << text;
  EXPECT_FALSE(ReadRecordFile(OwnFolder()).ok());
  EXPECT_TRUE(absl::IsNotFound(ReadRecordFile("no/such.banyan").status()));
}

TEST_F(RecordFileTest, RefusesARecordThatContradictsItself) {
  auto writer = RecordWriter::Create(Path(), SmallContext());
  ASSERT_TRUE(writer.ok()) << writer.status();
  records::PromptRecord wrong = Record(0);
  wrong.add_tokens(3);  // that no round emitted
  ASSERT_TRUE((*writer)->Append(wrong).ok());
  EXPECT_THAT(
      std::string(ReadRecordFile(Path()).status().message()),
      AllOf(HasSubstr("the entry at byte"), HasSubstr("its rounds emitted")));
}

TEST_F(RecordFileTest, RefusesARecordThatIsThereTwice) {
  const Entries whole = WriteThreeEntries();
  const std::string again =
      whole.bytes +
      whole.bytes.substr(whole.ends[0], whole.ends[1] - whole.ends[0]);
  EXPECT_THAT(
      std::string(ReadBytes(again).status().message()),
      AllOf(HasSubstr(absl::StrCat("the entry at byte ", whole.bytes.size())),
            HasSubstr("prompt 0 of cell 'plain' is recorded already")));
}

TEST_F(RecordFileTest, RefusesEntriesThatAreOtherMessages) {
  WriteEntries(
      SmallContext(),
      {Record(0),
       WithUnreadable(records::PromptRecord::kRoundsFieldNumber, Record(1))});
  EXPECT_THAT(std::string(ReadRecordFile(Path()).status().message()),
              HasSubstr("it is no prompt record"));
  std::filesystem::remove(Path());
  WriteEntries(
      WithUnreadable(records::Context::kCellsFieldNumber, SmallContext()), {});
  EXPECT_THAT(std::string(ReadRecordFile(Path()).status().message()),
              HasSubstr("it is no context"));
}

// Prompts decoded in one batch count only if all of them are there.
TEST_F(RecordFileTest, IsReadToItsLastWholeBatch) {
  const MadeOptions options = {.batches = true};
  constexpr int kMerged = 2;  // two batches of three
  std::vector<records::PromptRecord> prompts;
  for (int prompt = 0; prompt < options.prompts; ++prompt)
    prompts.push_back(MadePrompt(options, kMerged, prompt));
  // Another cell's batch of two, of which one is there.
  prompts.push_back(MadePrompt(options, 0, 0));
  prompts.back().set_batch(prompts[5].batch());
  prompts.back().set_batch_prompts(2);
  const Entries all = WriteEntries(MadeContext(options), prompts);
  for (std::size_t count = 0; count <= prompts.size(); ++count) {
    const auto file = ReadBytes(all.bytes.substr(0, all.ends[count]));
    ASSERT_TRUE(file.ok()) << file.status();
    const std::size_t whole = count / 3 * 3;
    EXPECT_EQ(file->prompts.size(), whole) << count;
    EXPECT_EQ(static_cast<std::size_t>(file->whole_bytes), all.ends[whole]);
    EXPECT_EQ(static_cast<std::size_t>(file->torn_bytes),
              all.ends[count] - all.ends[whole]);
  }
}

// With the standard input closed a file gets descriptor 0.
TEST_F(RecordWriterTest, WritesToTheFirstDescriptorToo) {
  const auto write_and_go_on = [] {
    close(STDIN_FILENO);
    errno = EEXIST;  // of something else
    auto writer = RecordWriter::Create(Path(), SmallContext());
    if (!writer.ok()) return 1;
    writer->reset();
    const auto file = ReadRecordFile(Path());
    if (!file.ok()) return 2;
    return RecordWriter::Resume(*file).ok() ? 0 : 3;
  };
  EXPECT_EXIT(std::exit(write_and_go_on()), testing::ExitedWithCode(0), "");
}

TEST_F(RecordWriterTest, GoesOnAfterTheLastWholeEntry) {
  const Entries whole = WriteThreeEntries();
  for (const std::size_t length :
       {whole.ends[0], whole.ends[0] + 1, whole.ends[1] - 1}) {
    const auto torn = ReadBytes(whole.bytes.substr(0, length));
    ASSERT_TRUE(torn.ok()) << torn.status();
    {
      auto writer = RecordWriter::Resume(*torn);
      ASSERT_TRUE(writer.ok()) << writer.status();
      ASSERT_TRUE((*writer)->Append(Record(0)).ok());
      ASSERT_TRUE((*writer)->Append(Record(1)).ok());
    }
    EXPECT_EQ(FileText(Path()), whole.bytes) << length;
  }
}

TEST_F(RecordWriterTest, KeepsASecondWriterOut) {
  auto first = RecordWriter::Create(Path(), SmallContext());
  ASSERT_TRUE(first.ok()) << first.status();
  const auto file = ReadRecordFile(Path());
  ASSERT_TRUE(file.ok()) << file.status();
  const auto second = RecordWriter::Resume(*file);
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
  EXPECT_THAT(std::string(second.status().message()),
              AllOf(HasSubstr("run.banyan"), HasSubstr("another run")));
  first->reset();
  EXPECT_TRUE(RecordWriter::Resume(*file).ok());
}

TEST_F(RecordWriterTest, RefusesAFileThatIsThereOrHasChanged) {
  WriteThreeEntries();
  const auto file = ReadRecordFile(Path());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(absl::IsAlreadyExists(
      RecordWriter::Create(Path(), SmallContext()).status()));
  WriteText(Path(), FileText(Path()) + "more");
  EXPECT_THAT(std::string(RecordWriter::Resume(*file).status().message()),
              HasSubstr("another process has written it"));
}

TEST_F(RecordWriterTest, SaysThatTheDiskIsFullAndLeavesWholeEntries) {
  const Entries whole = WriteThreeEntries();
  const auto begun = ReadBytes(whole.bytes.substr(0, whole.ends[1]));
  ASSERT_TRUE(begun.ok()) << begun.status();
  auto writer = RecordWriter::Resume(*begun);
  ASSERT_TRUE(writer.ok()) << writer.status();
  absl::Status full;
  {
    const FewBytes disk(whole.ends[1] + 30);  // more than a header
    full = (*writer)->Append(Record(1));
  }
  EXPECT_THAT(std::string(full.message()),
              AllOf(HasSubstr("run.banyan"), HasSubstr("File too large")));
  EXPECT_EQ(FileText(Path()), whole.bytes.substr(0, whole.ends[1]));
  // There is room again, but an entry is missing.
  EXPECT_EQ((*writer)->Append(Record(1)), full);
  EXPECT_EQ(FileText(Path()), whole.bytes.substr(0, whole.ends[1]));
}

TEST_F(RecordWriterTest, LeavesNoFileThatCannotHoldItsContext) {
  {
    const FewBytes disk(20);
    EXPECT_FALSE(RecordWriter::Create(Path(), SmallContext()).ok());
  }
  EXPECT_FALSE(std::filesystem::exists(Path()));
}

}  // namespace
}  // namespace banyan
