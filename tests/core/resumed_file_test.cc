// Files written over several runs: through links, with the owner and the
// permissions of the file before, and named where they are at fault.
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

#include "core/base/bytes.h"
#include "core/base/common.h"
#include "core/base/output_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/checkpoint/files.h"

namespace banyan {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

absl::Status WriteResumed(const std::string& path, absl::string_view text) {
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<ResumedFile> file,
                          ResumedFile::Open(path));
  BANYAN_RETURN_IF_ERROR(file->Write(0, BytesOf(text)));
  return file->Finish();
}

// Opens a file and leaves it unfinished.
absl::Status Begin(const std::string& path, absl::string_view text) {
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<ResumedFile> file,
                          ResumedFile::Open(path));
  return file->Write(0, BytesOf(text));
}

class ResumedFileTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const {
    return folder_.path() + "/" + name;
  }
  bool Has(const std::string& name) const {
    return fs::exists(fs::symlink_status(Path(name)));
  }

  const TestFolder folder_;
};

TEST_F(ResumedFileTest, GoesOnFromWhatWasWritten) {
  ASSERT_TRUE(Begin(Path("a"), "first").ok());
  EXPECT_FALSE(Has("a"));
  const absl::StatusOr<std::unique_ptr<ResumedFile>> file =
      ResumedFile::Open(Path("a"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(*(*file)->size(), 5U);
  ASSERT_TRUE((*file)->Write(5, BytesOf(" second")).ok());
  ASSERT_TRUE((*file)->Finish().ok());
  EXPECT_EQ(folder_.Read("a"), "first second");
  EXPECT_FALSE(Has("a.partial"));
}

TEST_F(ResumedFileTest, FollowsLinksAndLeavesThem) {
  folder_.Write("target", "old");
  fs::create_directory(Path("there"));
  fs::create_symlink("target", Path("near"));
  fs::create_symlink(Path("near"), Path("far"));
  fs::create_symlink("there/new", Path("dangling"));
  // The partial file lies beside the target, whichever link leads to it.
  ASSERT_TRUE(Begin(Path("far"), "f").ok());
  EXPECT_TRUE(Has("target.partial"));
  EXPECT_EQ(folder_.Read("target"), "old");
  ASSERT_TRUE(WriteResumed(Path("near"), "first").ok());
  EXPECT_EQ(folder_.Read("target"), "first");
  ASSERT_TRUE(WriteResumed(Path("dangling"), "second").ok());
  EXPECT_EQ(folder_.Read("there/new"), "second");
  for (const char* link : {"near", "far", "dangling"}) {
    EXPECT_TRUE(fs::is_symlink(Path(link))) << link;
    EXPECT_FALSE(Has(std::string(link) + ".partial")) << link;
  }
  EXPECT_FALSE(Has("target.partial"));
}

TEST_F(ResumedFileTest, RefusesLinksInACircle) {
  fs::create_symlink("round", Path("round"));
  const absl::Status status = WriteResumed(Path("round"), "x");
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("round: Too many"));
  EXPECT_TRUE(fs::is_symlink(Path("round")));
}

TEST_F(ResumedFileTest, KeepsOwnerAndPermissionsOfTheOldFile) {
  const std::string path = folder_.Write("a", "old");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  // Only the administrator may give a file away.
  const uid_t owner = geteuid() == 0 ? 12345 : geteuid();
  ASSERT_EQ(chown(path.c_str(), owner, static_cast<gid_t>(-1)), 0);
  fs::create_symlink("a", Path("link"));
  ASSERT_TRUE(WriteResumed(Path("link"), "new").ok());
  struct stat about = {};
  ASSERT_EQ(stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777U, 0640U);
  EXPECT_EQ(about.st_uid, owner);
  EXPECT_EQ(folder_.Read("a"), "new");
}

TEST_F(ResumedFileTest, NamesThePartialFileWhereItIsAtFault) {
  const auto refusal = [](const std::string& path) {
    const absl::Status status = WriteResumed(path, "x");
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_EQ(refusal(folder_.path()),
            folder_.path() + ": expected a file to write, found a directory");
  EXPECT_EQ(refusal(Path("none/a")),
            Path("none/a") + ": No such file or directory");
  EXPECT_EQ(refusal("/dev/null"),
            "/dev/null: expected an ordinary file, or none");
  fs::create_directory(Path("b.partial"));
  EXPECT_EQ(refusal(Path("b")),
            Path("b.partial") + ": expected an ordinary file, or none");
  const absl::StatusOr<std::unique_ptr<ResumedFile>> file =
      ResumedFile::Open(Path("c"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(refusal(Path("c")),
            Path("c.partial") + ": another process is writing this file");
  std::byte read[8];
  EXPECT_EQ((*file)->Read(2, absl::MakeSpan(read)).message(),
            Path("c.partial") +
                ": expected 8 bytes at byte 2, found the end of the file");
}

// A command checks its output before it begins; what an interrupted run left
// there is still to be resumed.
TEST_F(ResumedFileTest, CheckingAPathLeavesWhatARunLeftThere) {
  ASSERT_TRUE(Begin(Path("a"), "first").ok());
  EXPECT_TRUE(CheckWritable(Path("a")).ok());
  EXPECT_EQ(folder_.Read("a.partial"), "first");
}

}  // namespace
}  // namespace banyan
