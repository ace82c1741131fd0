// Tests of reading a file's extents ahead: whatever is taken, in whatever
// order, by io_uring and by threads, has the bytes of the file, and what is
// wrong with a file or a disk is told with its place.
#include "core/device/stream/extent_ring.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/common.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/checkpoint/files.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A file of extents of unequal sizes, each filled with numbers of its own.
class ExtentFile {
 public:
  explicit ExtentFile(std::size_t extents) {
    std::string bytes;
    for (std::size_t i = 0; i < extents; ++i) {
      std::string own(4000 + 1111 * (i % 5), '\0');
      for (std::size_t k = 0; k < own.size(); ++k)
        own[k] = static_cast<char>(Mixed(i * 100000 + k));
      extents_.push_back({bytes.size(), static_cast<std::uint32_t>(own.size()),
                          Crc32(BytesOf(own))});
      bytes += own;
      bytes.resize((bytes.size() + kDirectBlock - 1) / kDirectBlock *
                   kDirectBlock);
      contents_.push_back(std::move(own));
    }
    folder_.Write("file", bytes);
  }

  std::string path() const { return folder_.path() + "/file"; }
  const std::vector<Extent>& extents() const { return extents_; }
  const std::string& content(std::size_t i) const { return contents_[i]; }

  std::shared_ptr<const DirectFile> Open() const {
    absl::StatusOr<std::unique_ptr<DirectFile>> file = DirectFile::Open(path());
    EXPECT_TRUE(file.ok()) << file.status();
    return *std::move(file);
  }
  // Writes over some bytes, in place.
  void Change(std::uint64_t at, const std::string& bytes) const {
    const int descriptor = open(path().c_str(), O_WRONLY);
    ASSERT_GE(descriptor, 0);
    ASSERT_EQ(
        static_cast<ssize_t>(bytes.size()),
        pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(at)));
    close(descriptor);
  }

 private:
  TestFolder folder_;
  std::vector<Extent> extents_;
  std::vector<std::string> contents_;
};

std::string Text(absl::Span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// By name: io_uring, where the system has it, or threads.
std::unique_ptr<BlockReads> ReadsOf(const std::string& name,
                                    std::shared_ptr<const DirectFile> file) {
  if (name == "threads") return ThreadReads(file, ExtentRing::kDepth);
  absl::StatusOr<std::unique_ptr<BlockReads>> reads =
      UringReads(std::move(file), ExtentRing::kDepth);
  return reads.ok() ? *std::move(reads) : nullptr;
}

class EitherReads : public testing::TestWithParam<std::string> {
 protected:
  // Null, and the test is skipped, where there are no such reads.
  std::unique_ptr<ExtentRing> Ring(const ExtentFile& file, std::size_t slots) {
    const std::shared_ptr<const DirectFile> opened = file.Open();
    std::unique_ptr<BlockReads> reads = ReadsOf(GetParam(), opened);
    if (reads == nullptr) return nullptr;
    EXPECT_EQ(GetParam(), reads->name());
    absl::StatusOr<std::unique_ptr<ExtentRing>> ring =
        ExtentRing::Create(opened, std::move(reads), file.extents(), slots);
    EXPECT_TRUE(ring.ok()) << ring.status();
    return *std::move(ring);
  }
};

#define RING_OR_SKIP(ring, file, slots)                       \
  const std::unique_ptr<ExtentRing> ring = Ring(file, slots); \
  if (ring == nullptr) GTEST_SKIP() << "this system refuses " << GetParam()

TEST_P(EitherReads, GiveEveryExtentInEveryPass) {
  const ExtentFile file(23);
  for (std::size_t slots : {2, 3, 8, 23, 40}) {
    RING_OR_SKIP(ring, file, slots);
    const auto turn = ring->Turn();
    for (int pass = 0; pass < 4; ++pass)
      for (std::size_t i = 0; i < file.extents().size(); ++i) {
        const absl::StatusOr<absl::Span<const std::byte>> bytes = ring->Take(i);
        ASSERT_TRUE(bytes.ok()) << bytes.status();
        ASSERT_EQ(file.content(i), Text(*bytes)) << slots << " slots, " << i;
      }
  }
}

TEST_P(EitherReads, GiveWhateverIsTakenNext) {
  const ExtentFile file(17);
  for (std::size_t slots : {2, 5, 17}) {
    RING_OR_SKIP(ring, file, slots);
    const auto turn = ring->Turn();
    std::size_t i = 0;
    for (std::uint64_t step = 0; step < 300; ++step) {
      // Now and then the next one, else any: the same again too.
      const std::uint64_t dice = Mixed(step * 7 + slots);
      i = dice % 3 == 0 ? (i + 1) % 17 : dice / 3 % 17;
      const absl::StatusOr<absl::Span<const std::byte>> bytes = ring->Take(i);
      ASSERT_TRUE(bytes.ok()) << bytes.status();
      ASSERT_EQ(file.content(i), Text(*bytes)) << slots << " slots, " << i;
    }
  }
}

TEST_P(EitherReads, GoOnUntilTheRingIsFull) {
  const ExtentFile file(30);
  RING_OR_SKIP(ring, file, 12);
  const auto turn = ring->Turn();
  ASSERT_TRUE(ring->Take(0).ok());
  // Nobody takes anything: the next eleven arrive all the same, and no more.
  std::uint64_t expected = 0;
  for (std::size_t i = 0; i < 12; ++i)
    expected += ExtentRing::SlotBytes(file.extents()[i].bytes);
  for (int i = 0; i < 2000 && ring->bytes_read() < expected; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(expected, ring->bytes_read());
}

TEST_P(EitherReads, TellOfAFlippedByteWhereItIs) {
  const ExtentFile file(9);
  const Extent& damaged = file.extents()[5];
  std::string byte = file.content(5).substr(77, 1);
  byte[0] = static_cast<char>(byte[0] ^ 4);
  file.Change(damaged.offset + 77, byte);
  RING_OR_SKIP(ring, file, 3);
  const auto turn = ring->Turn();
  for (std::size_t i = 0; i < 5; ++i) ASSERT_TRUE(ring->Take(i).ok());
  for (int again = 0; again < 2; ++again) {
    const absl::Status status = ring->Take(5).status();
    EXPECT_EQ(absl::StatusCode::kDataLoss, status.code());
    EXPECT_THAT(
        std::string(status.message()),
        AllOf(HasSubstr(file.path()), HasSubstr("checksum"),
              HasSubstr("at offset " + std::to_string(damaged.offset))));
  }
  // The others are as they were.
  const absl::StatusOr<absl::Span<const std::byte>> after = ring->Take(6);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(file.content(6), Text(*after));
}

TEST_P(EitherReads, TellOfAFileThatChanges) {
  const ExtentFile file(9);
  RING_OR_SKIP(ring, file, 3);
  const auto turn = ring->Turn();
  ASSERT_TRUE(ring->Take(0).ok());
  ASSERT_EQ(0, truncate(file.path().c_str(), 6000));
  const absl::Status status = ring->Take(1).status();
  EXPECT_EQ(absl::StatusCode::kDataLoss, status.code());
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(file.path()), HasSubstr("changed"),
                    HasSubstr("found 6000")));
}

TEST_P(EitherReads, TellOfAByteThatWasWrittenWithTheFilesTimePutBack) {
  const ExtentFile file(9);
  RING_OR_SKIP(ring, file, 3);
  const auto turn = ring->Turn();
  for (std::size_t i = 0; i < 9; ++i) ASSERT_TRUE(ring->Take(i).ok());
  // The system's file times move on by milliseconds.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const auto written = std::filesystem::last_write_time(file.path());
  std::string byte = file.content(5).substr(77, 1);
  byte[0] = static_cast<char>(byte[0] ^ 4);
  file.Change(file.extents()[5].offset + 77, byte);
  std::filesystem::last_write_time(file.path(), written);
  for (std::size_t i = 0; i < 5; ++i) ASSERT_TRUE(ring->Take(i).ok());
  const absl::Status status = ring->Take(5).status();
  EXPECT_EQ(absl::StatusCode::kDataLoss, status.code()) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("checksum"));
}

// Backups and moves do this; no byte has changed.
TEST_P(EitherReads, GoOnWithAFileThatWasRenamed) {
  const ExtentFile file(9);
  RING_OR_SKIP(ring, file, 3);
  const auto turn = ring->Turn();
  for (std::size_t i = 0; i < 9; ++i) ASSERT_TRUE(ring->Take(i).ok());
  const std::string other = file.path() + ".moved";
  std::filesystem::rename(file.path(), other);
  for (std::size_t i = 0; i < 9; ++i) {
    const absl::StatusOr<absl::Span<const std::byte>> bytes = ring->Take(i);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_EQ(file.content(i), Text(*bytes));
  }
  std::filesystem::rename(other, file.path());
}

TEST_P(EitherReads, EndWhileReadsAreUnderWay) {
  const ExtentFile file(40);
  for (int i = 0; i < 30; ++i) {
    RING_OR_SKIP(ring, file, 20);
    if (i % 2 == 0) continue;
    const auto turn = ring->Turn();
    ASSERT_TRUE(ring->Take(3).ok());
  }
}

INSTANTIATE_TEST_SUITE_P(Stream, EitherReads,
                         testing::Values("io_uring", "threads"));

// Reads that fail when they are told to.
class FaultyReads : public BlockReads {
 public:
  explicit FaultyReads(const ExtentFile& file, std::vector<int>* faults)
      : file_(file), faults_(faults) {}
  std::string name() const override { return "faulty"; }
  void Begin(int tag, std::uint64_t offset, absl::Span<std::byte> to) override {
    std::size_t i = 0;
    while (file_.extents()[i].offset != offset) ++i;
    const absl::Span<const std::byte> bytes = BytesOf(file_.content(i));
    std::copy(bytes.begin(), bytes.end(), to.begin());
    const auto fault =
        std::find(faults_->begin(), faults_->end(), static_cast<int>(i));
    if (fault == faults_->end()) {
      done_.push_back({tag, absl::OkStatus()});
    } else {
      faults_->erase(fault);
      done_.push_back({tag, absl::InternalError("the disk is gone")});
    }
  }
  Done Wait() override {
    Done done = std::move(done_.back());
    done_.pop_back();
    return done;
  }

 private:
  const ExtentFile& file_;
  std::vector<int>* faults_;
  std::deque<Done> done_;
};

TEST(ExtentRing, AnErrorEndsOneTakeAndTheNextReadsAgain) {
  const ExtentFile file(10);
  std::vector<int> faults = {4, 7, 7};
  absl::StatusOr<std::unique_ptr<ExtentRing>> ring = ExtentRing::Create(
      file.Open(), std::make_unique<FaultyReads>(file, &faults), file.extents(),
      4);
  ASSERT_TRUE(ring.ok());
  const auto turn = (*ring)->Turn();
  int failed = 0;
  for (int pass = 0; pass < 2; ++pass)
    for (std::size_t i = 0; i < 10;) {
      const absl::StatusOr<absl::Span<const std::byte>> bytes =
          (*ring)->Take(i);
      if (!bytes.ok()) {
        EXPECT_THAT(std::string(bytes.status().message()),
                    HasSubstr("the disk is gone"));
        EXPECT_TRUE(i == 4 || i == 7) << i;
        ++failed;
        continue;
      }
      EXPECT_EQ(file.content(i), Text(*bytes));
      ++i;
    }
  EXPECT_EQ(3, failed);
}

TEST(PendingRead, GoesOnAfterShortAndInterruptedReads) {
  const ExtentFile file(1);
  const std::shared_ptr<const DirectFile> opened = file.Open();
  std::vector<std::byte> to(3 * kDirectBlock);
  PendingRead read(*opened, 8192, absl::MakeSpan(to));
  EXPECT_TRUE(read.Take(-EINTR).ok());
  EXPECT_EQ(8192, read.offset());
  EXPECT_EQ(to.size(), read.left().size());
  // Read past the page cache only whole blocks count.
  EXPECT_TRUE(read.Take(kDirectBlock + (opened->direct() ? 100 : 0)).ok());
  EXPECT_EQ(8192 + kDirectBlock, read.offset());
  EXPECT_EQ(2 * kDirectBlock, read.left().size());
  EXPECT_TRUE(read.Take(2 * kDirectBlock).ok());
  EXPECT_TRUE(read.left().empty());
}

TEST(PendingRead, IsNotInterruptedForEver) {
  const ExtentFile file(1);
  const std::shared_ptr<const DirectFile> opened = file.Open();
  for (const int code : {EINTR, EAGAIN}) {
    std::vector<std::byte> to(3 * kDirectBlock);
    PendingRead read(*opened, 4096, absl::MakeSpan(to));
    // What is read counts: the interruptions after it are others.
    for (int part = 0; part < 2; ++part) {
      for (int i = 1; i < PendingRead::kMostInterruptions; ++i)
        ASSERT_TRUE(read.Take(-code).ok());
      ASSERT_TRUE(read.Take(kDirectBlock).ok());
    }
    absl::Status status;
    for (int i = 0; status.ok() && i < PendingRead::kMostInterruptions; ++i)
      status = read.Take(-code);
    EXPECT_TRUE(absl::IsInternal(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(file.path()),
                      HasSubstr("while reading 4096 bytes at offset 12288")));
  }
}

TEST(PendingRead, TellsWhatTheSystemSays) {
  const ExtentFile file(1);
  const std::shared_ptr<const DirectFile> opened = file.Open();
  std::vector<std::byte> to(kDirectBlock);
  PendingRead read(*opened, 4096, absl::MakeSpan(to));
  EXPECT_THAT(std::string(read.Take(-EIO).message()),
              AllOf(HasSubstr(file.path()), HasSubstr("Input/output error"),
                    HasSubstr("offset 4096")));
  EXPECT_THAT(std::string(read.Take(0).message()),
              AllOf(HasSubstr(file.path()), HasSubstr("found 0"),
                    HasSubstr("cut short")));
}

TEST(DirectFile, IsReadThroughTheCacheWhereItCannotBeReadDirectly) {
  // /proc has ordinary files that refuse O_DIRECT.
  const absl::StatusOr<std::unique_ptr<DirectFile>> file =
      DirectFile::Open("/proc/self/status");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_FALSE((*file)->direct());
}

TEST(DirectFile, RefusesWhatIsNoFile) {
  const TestFolder folder;
  EXPECT_EQ(absl::StatusCode::kNotFound,
            DirectFile::Open(folder.path() + "/none").status().code());
  EXPECT_EQ(absl::StatusCode::kInvalidArgument,
            DirectFile::Open(folder.path()).status().code());
}

}  // namespace
}  // namespace banyan
