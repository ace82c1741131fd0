// Record files: what is whole is read, what is torn is cut and said, what is
// damaged is refused.
#include "experiments/records/record_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "experiments/records/record.pb.h"
#include "tests/experiments/test_files.h"
#include "tests/support/few_bytes.h"
#include "tests/support/made_records.h"

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

// A file of a context and two records, and where its entries end.
struct ThreeEntries {
  std::string bytes;
  std::vector<std::size_t> ends;
};

ThreeEntries WriteThreeEntries() {
  ThreeEntries file;
  const auto note_end = [&file] {
    file.bytes = FileText(Path());
    file.ends.push_back(file.bytes.size());
  };
  auto writer = RecordWriter::Create(Path(), SmallContext());
  EXPECT_TRUE(writer.ok()) << writer.status();
  note_end();
  for (const int cell : {0, 1}) {
    EXPECT_TRUE((*writer)->Append(Record(cell)).ok());
    note_end();
  }
  return file;
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
  const ThreeEntries written = WriteThreeEntries();
  const auto file = ReadRecordFile(Path());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(HoldsRecords(*file, 2));
  EXPECT_EQ(file->path, Path());
  EXPECT_EQ(static_cast<std::size_t>(file->whole_bytes), written.ends.back());
  EXPECT_EQ(file->torn_bytes, 0);
}

TEST_F(RecordFileTest, IsReadToItsLastWholeEntryWhereverItWasCut) {
  const ThreeEntries whole = WriteThreeEntries();
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
  const ThreeEntries whole = WriteThreeEntries();
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
  const ThreeEntries whole = WriteThreeEntries();
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
  const ThreeEntries whole = WriteThreeEntries();
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
  const ThreeEntries whole = WriteThreeEntries();
  const std::string again =
      whole.bytes +
      whole.bytes.substr(whole.ends[0], whole.ends[1] - whole.ends[0]);
  EXPECT_THAT(
      std::string(ReadBytes(again).status().message()),
      AllOf(HasSubstr(absl::StrCat("the entry at byte ", whole.bytes.size())),
            HasSubstr("prompt 0 of cell 'plain' is recorded already")));
}

TEST_F(RecordWriterTest, GoesOnAfterTheLastWholeEntry) {
  const ThreeEntries whole = WriteThreeEntries();
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
  const ThreeEntries whole = WriteThreeEntries();
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
