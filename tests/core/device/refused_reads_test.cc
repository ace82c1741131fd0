// Tests of reads by io_uring where the system refuses its calls: every read
// ends with its bytes or with an error, and nothing waits for ever. A filter of
// system calls cannot be taken back, so each test has a process of its own,
// which an alarm ends.
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/common.h"
#include "core/device/stream/extent_ring.h"
#include "gtest/gtest.h"
#include "tests/core/checkpoint/files.h"
#include "tests/support/refused_call.h"

namespace banyan {
namespace {

// What a child process found.
enum Finding { kRight = 0, kWrong = 1, kNoUring = 2, kNoFilter = 3 };

constexpr int kReads = 4;
constexpr std::size_t kBytes = 64 * kDirectBlock;

class RefusedReads : public testing::Test {
 protected:
  RefusedReads() : contents_(kReads * kBytes, '\0') {
    for (std::size_t i = 0; i < contents_.size(); ++i)
      contents_[i] = static_cast<char>(Mixed(i));
    folder_.Write("file", contents_);
  }

  std::shared_ptr<const DirectFile> OpenFile() const {
    absl::StatusOr<std::unique_ptr<DirectFile>> file =
        DirectFile::Open(folder_.path() + "/file");
    return file.ok() ? *std::move(file) : nullptr;
  }
  absl::StatusOr<std::unique_ptr<BlockReads>> Open() const {
    return UringReads(OpenFile(), kReads);
  }
  void BeginAll(BlockReads& reads) {
    for (int i = 0; i < kReads; ++i)
      reads.Begin(i, static_cast<std::size_t>(i) * kBytes,
                  memory_.of[static_cast<std::size_t>(i)]);
  }
  // Whether all are read.
  bool WaitForAll(BlockReads& reads) {
    for (int i = 0; i < kReads; ++i) {
      const BlockReads::Done done = reads.Wait();
      if (!done.status.ok()) return false;
      const auto tag = static_cast<std::size_t>(done.tag);
      if (std::memcmp(memory_.of[tag], &contents_[tag * kBytes], kBytes) != 0)
        return false;
    }
    return true;
  }
  // Whether all are refused, each once.
  bool AllRefused(BlockReads& reads) const {
    int tags = 0;
    for (int i = 0; i < kReads; ++i) {
      const BlockReads::Done done = reads.Wait();
      if (!absl::IsInternal(done.status) ||
          !absl::StrContains(done.status.message(), folder_.path()) ||
          !absl::StrContains(done.status.message(), "io_uring takes no reads"))
        return false;
      tags |= 1 << done.tag;
    }
    return tags == (1 << kReads) - 1;
  }
  std::vector<Extent> Extents() const {
    std::vector<Extent> extents;
    for (std::size_t i = 0; i < kReads; ++i)
      extents.push_back(
          {i * kBytes, kBytes,
           Crc32(BytesOf(contents_).subspan(i * kBytes, kBytes))});
    return extents;
  }

 private:
  const TestFolder folder_;
  std::string contents_;
  struct Memory {
    alignas(kDirectBlock) std::byte of[kReads][kBytes];
  };
  const std::unique_ptr<Memory> owned_ = std::make_unique<Memory>();
  Memory& memory_ = *owned_;
};

void ExpectRight(int found) {
  if (found == kNoUring) GTEST_SKIP() << "this system refuses io_uring";
  if (found == kNoFilter) GTEST_SKIP() << "this system filters no calls";
  EXPECT_EQ(kRight, found) << "-1: it did not end";
}

// So that the caller reads by threads.
TEST_F(RefusedReads, ASystemThatRefusesIoUringIsToldAtOpening) {
  constexpr struct {
    unsigned call;
    unsigned code;
    const char* reason;
  } kRefusals[] = {
      {SYS_io_uring_setup, EPERM, "Operation not permitted"},
      {SYS_io_uring_setup, ENOSYS, "Function not implemented"},
      {SYS_io_uring_enter, EPERM, "Operation not permitted"},
      {SYS_io_uring_enter, EBADF, "Bad file descriptor"},
      {SYS_io_uring_enter, EAGAIN, "Resource temporarily unavailable"},
      {SYS_io_uring_enter, EBUSY, "Device or resource busy"},
      {SYS_io_uring_enter, EINTR, "Interrupted system call"}};
  for (const auto& refusal : kRefusals) {
    SCOPED_TRACE(refusal.reason);
    ExpectRight(InChild([&]() -> int {
      if (!RefuseCall(refusal.call, refusal.code)) return kNoFilter;
      const absl::Status status = Open().status();
      return absl::IsUnavailable(status) &&
                     absl::StrContains(status.message(), "io_uring") &&
                     absl::StrContains(status.message(), refusal.reason)
                 ? kRight
                 : kWrong;
    }));
  }
}

TEST_F(RefusedReads, OfACallThatFailsForGoodEveryReadIsTold) {
  for (const unsigned code : {EPERM, EBADF, EAGAIN, EBUSY, EINTR})
    ExpectRight(InChild([&]() -> int {
      const auto reads = Open();
      if (!reads.ok()) return kNoUring;
      if (!RefuseCall(SYS_io_uring_enter, code)) return kNoFilter;
      for (int again = 0; again < 3; ++again) {
        BeginAll(**reads);
        if (!AllRefused(**reads)) return kWrong;
      }
      return kRight;
    }));
}

TEST_F(RefusedReads, WhatTheSystemHasTakenIsReadAllTheSame) {
  for (const unsigned code : {EPERM, EAGAIN, EINTR})
    ExpectRight(InChild([&]() -> int {
      const auto reads = Open();
      if (!reads.ok()) return kNoUring;
      BeginAll(**reads);
      if (!RefuseCall(SYS_io_uring_enter, code)) return kNoFilter;
      return WaitForAll(**reads) ? kRight : kWrong;
    }));
}

TEST_F(RefusedReads, EndWithTheirReaderWhateverTheSystemHasTaken) {
  for (const unsigned code : {EPERM, EAGAIN, EINTR})
    ExpectRight(InChild([&]() -> int {
      absl::StatusOr<std::unique_ptr<BlockReads>> taken = Open();
      absl::StatusOr<std::unique_ptr<BlockReads>> refused = Open();
      if (!taken.ok() || !refused.ok()) return kNoUring;
      BeginAll(**taken);
      if (!RefuseCall(SYS_io_uring_enter, code)) return kNoFilter;
      taken->reset();
      BeginAll(**refused);
      refused->reset();
      return kRight;
    }));
}

TEST_F(RefusedReads, EveryTakeFromARingIsTold) {
  ExpectRight(InChild([&]() -> int {
    const std::shared_ptr<const DirectFile> file = OpenFile();
    auto reads = UringReads(file, ExtentRing::kDepth);
    if (!reads.ok()) return kNoUring;
    const auto ring = ExtentRing::Create(file, *std::move(reads), Extents(), 3);
    if (!ring.ok()) return kWrong;
    if (!RefuseCall(SYS_io_uring_enter, EPERM)) return kNoFilter;
    for (std::size_t i = 0; i < 3 * kReads; ++i)
      if (!absl::IsInternal((*ring)->Take(i % kReads).status())) return kWrong;
    return kRight;
  }));
}

// Answers the calls of a filter: some with an error, the others as the system
// does.
class Supervisor {
 public:
  Supervisor(int refusals, int code)
      : thread_([this, refusals, code] { Work(refusals, code); }) {}
  ~Supervisor() { thread_.detach(); }  // ends with the process
  // Filters the calls of this thread. False if the system cannot.
  bool Watch(unsigned number) {
    const CallFilter watched(number, SECCOMP_RET_USER_NOTIF);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    listener_ = static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                         SECCOMP_FILTER_FLAG_NEW_LISTENER,
                                         &watched.program));
    return listener_ >= 0;
  }
  int answered() const { return answered_; }

 private:
  void Work(int refusals, int code) {
    while (listener_ < 0) std::this_thread::yield();
    while (true) {
      seccomp_notif call = {};
      if (ioctl(listener_, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) continue;
      seccomp_notif_resp answer = {};
      answer.id = call.id;
      if (answered_++ < refusals)
        answer.error = -code;
      else
        answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
      ioctl(listener_, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
  }

  std::atomic<int> listener_ = -1;
  std::atomic<int> answered_ = 0;
  std::thread thread_;  // before the filter, so that it is not filtered
};

TEST_F(RefusedReads, AreSubmittedAgainUntilTheSystemTakesThem) {
  constexpr int kRefusals = 30;
  for (const int code : {EAGAIN, EBUSY, EINTR})
    ExpectRight(InChild([&]() -> int {
      const auto reads = Open();
      if (!reads.ok()) return kNoUring;
      Supervisor supervisor(kRefusals, code);
      if (!supervisor.Watch(SYS_io_uring_enter)) return kNoFilter;
      for (int again = 0; again < 3; ++again) {
        BeginAll(**reads);
        if (!WaitForAll(**reads)) return kWrong;
      }
      return supervisor.answered() > kRefusals ? kRight : kWrong;
    }));
}

}  // namespace
}  // namespace banyan
