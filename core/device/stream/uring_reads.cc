#include <liburing.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/device/stream/block_reads.h"
#include "core/device/stream/direct_file.h"

namespace banyan {
namespace {

class Uring : public BlockReads {
 public:
  Uring(std::shared_ptr<const DirectFile> file, int depth)
      : file_(std::move(file)), reads_(static_cast<std::size_t>(depth)) {}
  ~Uring() override {
    if (!open_) return;
    while (under_way_ > 0) Wait();
    io_uring_queue_exit(&ring_);
  }
  Uring(const Uring&) = delete;
  Uring& operator=(const Uring&) = delete;

  absl::Status Open() {
    const int code =
        io_uring_queue_init(static_cast<unsigned>(reads_.size()), &ring_, 0);
    if (code < 0)
      return absl::UnavailableError(
          absl::StrCat("io_uring: ", std::generic_category().message(-code)));
    open_ = true;
    return absl::OkStatus();
  }

  std::string name() const override { return "io_uring"; }

  void Begin(int tag, std::uint64_t offset, absl::Span<std::byte> to) override {
    reads_[static_cast<std::size_t>(tag)] = PendingRead(*file_, offset, to);
    ++under_way_;
    Submit(tag);
  }

  Done Wait() override {
    while (true) {
      io_uring_cqe* entry = nullptr;
      const int code = io_uring_wait_cqe(&ring_, &entry);
      if (code < 0) continue;  // interrupted
      const auto tag = static_cast<int>(
          reinterpret_cast<std::intptr_t>(io_uring_cqe_get_data(entry)));
      const int result = entry->res;
      io_uring_cqe_seen(&ring_, entry);
      PendingRead& read = reads_[static_cast<std::size_t>(tag)];
      const absl::Status status = read.Take(result);
      if (!status.ok() || read.left().empty()) {
        --under_way_;
        return {tag, status};
      }
      Submit(tag);
    }
  }

 private:
  void Submit(int tag) {
    const PendingRead& read = reads_[static_cast<std::size_t>(tag)];
    io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
    Check(entry != nullptr, "more reads than the queue has room for");
    io_uring_prep_read(entry, file_->descriptor(), read.left().data(),
                       static_cast<unsigned>(read.left().size()),
                       read.offset());
    io_uring_sqe_set_data(
        entry, reinterpret_cast<void*>(static_cast<std::intptr_t>(tag)));
    io_uring_submit(&ring_);
  }

  std::shared_ptr<const DirectFile> file_;
  std::vector<PendingRead> reads_;  // by tag
  io_uring ring_ = {};
  bool open_ = false;
  int under_way_ = 0;
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
