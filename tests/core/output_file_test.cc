// Writing files: whole or not at all, through links, and into what is no file.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "core/base/common.h"
#include "core/base/output_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/checkpoint/files.h"
#include "tests/support/few_bytes.h"

namespace banyan {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

absl::Status WriteAll(const std::string& path, absl::string_view text) {
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file,
                          OutputFile::Open(path));
  BANYAN_RETURN_IF_ERROR(file->Append(text));
  return file->Finish();
}

class OutputFileTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const {
    return folder_.path() + "/" + name;
  }
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      names.insert(entry.path().filename().string());
    return names;
  }

  const TestFolder folder_;
};

TEST_F(OutputFileTest, ReplacesAFileWholeAndKeepsItsPermissions) {
  const std::string path = folder_.Write("a", "old");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  const auto file = OutputFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE((*file)->Append(std::string(100'000, 'x')).ok());
  EXPECT_EQ(folder_.Read("a"), "old");
  ASSERT_TRUE((*file)->Append("end").ok());
  ASSERT_TRUE((*file)->Finish().ok());
  EXPECT_EQ(folder_.Read("a"), std::string(100'000, 'x') + "end");
  EXPECT_THAT(Names(), ElementsAre("a"));
  struct stat about = {};
  ASSERT_EQ(stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777U, 0640U);
}

TEST_F(OutputFileTest, LeavesTheOldFileWhereItIsGivenUpOrTheDiskIsFull) {
  const std::string path = folder_.Write("a", "old");
  {
    const auto file = OutputFile::Open(path);
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE((*file)->Append("new").ok());
  }
  EXPECT_EQ(folder_.Read("a"), "old");
  {
    const FewBytes few(50);
    const absl::Status full = WriteAll(path, std::string(60, 'x'));
    EXPECT_TRUE(absl::IsInternal(full)) << full;
    EXPECT_EQ(full.message(), path + ": File too large");
  }
  EXPECT_EQ(folder_.Read("a"), "old");
  EXPECT_THAT(Names(), ElementsAre("a"));
}

TEST_F(OutputFileTest, FollowsLinksAndLeavesThem) {
  folder_.Write("target", "old");
  fs::create_symlink("target", Path("near"));
  fs::create_symlink(Path("near"), Path("far"));
  fs::create_symlink("new", Path("dangling"));
  ASSERT_TRUE(WriteAll(Path("far"), "first").ok());
  EXPECT_EQ(folder_.Read("target"), "first");
  ASSERT_TRUE(WriteAll(Path("dangling"), "second").ok());
  EXPECT_EQ(folder_.Read("new"), "second");
  for (const char* link : {"near", "far", "dangling"})
    EXPECT_TRUE(fs::is_symlink(Path(link))) << link;
  fs::create_symlink("round", Path("round"));
  const absl::Status round = WriteAll(Path("round"), "x");
  EXPECT_THAT(std::string(round.message()), HasSubstr("round: Too many"));
}

TEST_F(OutputFileTest, WritesThroughWhatIsNoOrdinaryFile) {
  const std::string pipe = Path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  // It has a reader, so that nobody waits.
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  EXPECT_TRUE(CheckWritable(pipe).ok());
  ASSERT_TRUE(WriteAll(pipe, "through").ok());
  std::string got(20, ' ');
  ASSERT_EQ(read(reader, got.data(), got.size()), 7);
  EXPECT_EQ(got.substr(0, 7), "through");
  close(reader);
  EXPECT_TRUE(fs::is_fifo(pipe));
  const std::string device = Path("device");
  if (mknod(device.c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0) {
    EXPECT_TRUE(CheckWritable(device).ok());
    EXPECT_TRUE(WriteAll(device, "gone").ok());
    EXPECT_TRUE(fs::is_character_file(device));
  }
  EXPECT_TRUE(absl::IsInternal(WriteAll("/dev/full", "x")));
  EXPECT_TRUE(WriteAll("/dev/null", "x").ok());
}

TEST_F(OutputFileTest, WritesToAStreamThatWasGivenWhereItStands) {
  const std::string path = folder_.Write("a", "before, ");
  const int descriptor = open(path.c_str(), O_WRONLY | O_APPEND);
  ASSERT_GE(descriptor, 0);
  ASSERT_TRUE(WriteAll("/dev/fd/" + std::to_string(descriptor), "after").ok());
  close(descriptor);
  EXPECT_EQ(folder_.Read("a"), "before, after");
}

TEST_F(OutputFileTest, SaysWhyNothingCanBeWritten) {
  const auto refusal = [](const std::string& path) {
    const absl::Status status = WriteAll(path, "x");
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_EQ(CheckWritable(path), status);
    return std::string(status.message());
  };
  EXPECT_EQ(refusal(folder_.path()),
            folder_.path() + ": expected a file to write, found a directory");
  EXPECT_EQ(refusal(Path("none/a")),
            Path("none/a") + ": No such file or directory");
  EXPECT_EQ(refusal(""), ": No such file or directory");
  fs::create_directory(Path("b.partial"));
  EXPECT_EQ(refusal(Path("b")),
            Path("b.partial") + ": expected an ordinary file, or none");
  folder_.Write("kept", "kept");
  fs::create_symlink("kept", Path("c.partial"));
  EXPECT_EQ(refusal(Path("c")),
            Path("c.partial") + ": expected an ordinary file, or none");
  EXPECT_EQ(folder_.Read("kept"), "kept");
}

TEST_F(OutputFileTest, TwoWritersOfOneFileDoNotMix) {
  const auto first = OutputFile::Open(Path("a"));
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status second = OutputFile::Open(Path("a")).status();
  EXPECT_EQ(second.message(),
            Path("a.partial") + ": another process is writing this file");
  ASSERT_TRUE((*first)->Append("first").ok());
  ASSERT_TRUE((*first)->Finish().ok());
  EXPECT_EQ(folder_.Read("a"), "first");
}

TEST_F(OutputFileTest, TakesOverWhatAKilledWriterLeft) {
  folder_.Write("a.partial", "a longer text that was never finished");
  ASSERT_TRUE(WriteAll(Path("a"), "short").ok());
  EXPECT_EQ(folder_.Read("a"), "short");
  EXPECT_THAT(Names(), ElementsAre("a"));
}

TEST_F(OutputFileTest, CheckingLeavesNothing) {
  EXPECT_TRUE(CheckWritable(Path("a")).ok());
  EXPECT_TRUE(Names().empty());
}

TEST_F(OutputFileTest, AddsAtTheEnd) {
  const std::string path = folder_.Write("a", "one\n");
  const auto file = OutputFile::OpenEnd(path);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE((*file)->Append("two\n").ok());
  ASSERT_TRUE((*file)->Finish().ok());
  EXPECT_EQ(folder_.Read("a"), "one\ntwo\n");
}

}  // namespace
}  // namespace banyan
