// Reads by io_uring.
//
// A read is queued in memory that is shared with the system, taken from there
// by io_uring_submit, and its completion is put into shared memory too. A call
// may fail at any time (EAGAIN and EBUSY where memory is short, EINTR, EPERM
// from a filter of system calls); what the shared memory says stays true:
//
// - A read that the system has not taken is not lost. It is submitted again
//   until the system has refused kMostRefusals times in a row, or at once for
//   good. Then it ends with that error, and so does every later one.
// - A read that the system has taken writes to its caller's memory until its
//   completion is there. Whatever calls say, it is given back only then, with
//   its bytes. Completions arrive without a call, so where waiting fails they
//   are looked for again and again, for as long as the disk takes.
//
// The destructor follows the same two rules: what was not taken is dropped, and
// the rest is waited for.
#include <liburing.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/device/stream/extent_ring.h"

namespace banyan {
namespace {

// Between two calls that fail. The system has a second to find memory.
constexpr std::chrono::milliseconds kNap{1};
constexpr int kMostRefusals = 1000;

std::string Reason(int code) { return std::generic_category().message(-code); }

class Uring : public BlockReads {
 public:
  Uring(std::shared_ptr<const DirectFile> file, int depth)
      : file_(std::move(file)), reads_(static_cast<std::size_t>(depth)) {}
  ~Uring() override {
    if (!open_) return;
    refused_ = absl::CancelledError("the reads are no longer wanted");
    while (under_way_ > 0) Wait();
    io_uring_queue_exit(&ring_);
  }
  Uring(const Uring&) = delete;
  Uring& operator=(const Uring&) = delete;

  // Reads a block: some systems give a ring and refuse its use.
  absl::Status Open() {
    const int code =
        io_uring_queue_init(static_cast<unsigned>(reads_.size()), &ring_, 0);
    if (code < 0)
      return absl::UnavailableError(absl::StrCat("io_uring: ", Reason(code)));
    open_ = true;
    Begin(0, 0, absl::MakeSpan(block_));
    const Done done = Wait();
    return done.status.ok() ? absl::OkStatus()
                            : absl::UnavailableError(done.status.message());
  }

  std::string name() const override { return "io_uring"; }

  void Begin(int tag, std::uint64_t offset, absl::Span<std::byte> to) override {
    reads_[static_cast<std::size_t>(tag)] = PendingRead(*file_, offset, to);
    ++under_way_;
    Queue(tag);
    Submit();
  }

  Done Wait() override {
    while (true) {
      io_uring_cqe* entry = nullptr;
      if (io_uring_peek_cqe(&ring_, &entry) == 0) {
        std::optional<Done> done = Take(entry);
        if (done.has_value()) return *std::move(done);
        continue;
      }
      Submit();
      if (!refused_.ok() && !queued_.empty()) {
        const int tag = queued_.front();
        queued_.pop_front();
        --under_way_;
        return {tag, refused_};
      }
      if (!queued_.empty() || io_uring_wait_cqe(&ring_, &entry) < 0)
        std::this_thread::sleep_for(kNap);
    }
  }

 private:
  void Queue(int tag) {
    queued_.push_back(tag);
    if (!refused_.ok()) return;
    const PendingRead& read = reads_[static_cast<std::size_t>(tag)];
    io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
    Check(entry != nullptr, "more reads than the queue has room for");
    io_uring_prep_read(entry, file_->descriptor(), read.left().data(),
                       static_cast<unsigned>(read.left().size()),
                       read.offset());
    io_uring_sqe_set_data(
        entry, reinterpret_cast<void*>(static_cast<std::intptr_t>(tag)));
  }

  // Has the system take what is queued, as far as it does now.
  void Submit() {
    if (queued_.empty() || !refused_.ok()) return;
    const int code = io_uring_submit(&ring_);
    // They are taken in order.
    while (queued_.size() > io_uring_sq_ready(&ring_)) queued_.pop_front();
    refusals_ = code < 0 ? refusals_ + 1 : 0;
    const bool later = code == -EAGAIN || code == -EBUSY || code == -EINTR;
    if (code < 0 && (!later || refusals_ >= kMostRefusals))
      refused_ = absl::InternalError(absl::StrCat(
          file_->path(), ": io_uring takes no reads: ", Reason(code)));
  }

  // What a completion says, if the read has ended; else the rest is queued.
  std::optional<Done> Take(io_uring_cqe* entry) {
    const auto tag = static_cast<int>(
        reinterpret_cast<std::intptr_t>(io_uring_cqe_get_data(entry)));
    const int result = entry->res;
    io_uring_cqe_seen(&ring_, entry);
    PendingRead& read = reads_[static_cast<std::size_t>(tag)];
    absl::Status status = read.Take(result);
    if (!status.ok() || read.left().empty()) {
      --under_way_;
      return Done{tag, std::move(status)};
    }
    if (result == -EAGAIN) std::this_thread::sleep_for(kNap);
    Queue(tag);
    return std::nullopt;
  }

  std::shared_ptr<const DirectFile> file_;
  std::vector<PendingRead> reads_;  // by tag
  io_uring ring_ = {};
  bool open_ = false;
  int under_way_ = 0;
  std::deque<int> queued_;  // of these, tags that the system has not taken
  int refusals_ = 0;        // in a row
  absl::Status refused_;    // for good
  alignas(kDirectBlock) std::byte block_[kDirectBlock] = {};
};

}  // namespace

absl::StatusOr<std::unique_ptr<BlockReads>> UringReads(
    std::shared_ptr<const DirectFile> file, int depth) {
  auto reads = std::make_unique<Uring>(std::move(file), depth);
  const absl::Status opened = reads->Open();
  if (!opened.ok()) return opened;
  return reads;
}

}  // namespace banyan
