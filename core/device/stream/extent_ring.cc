#include "core/device/stream/extent_ring.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/crc32.h"
#include "core/base/file_state.h"
#include "core/base/status_macros.h"
#include "core/device/host_buffer.h"
#include "core/device/stream/block_reads.h"
#include "core/device/stream/direct_file.h"

namespace banyan {
namespace {

// What is read of an extent: whole blocks.
std::size_t ReadBytes(std::size_t bytes) {
  return (bytes + kDirectBlock - 1) / kDirectBlock * kDirectBlock;
}

}  // namespace

std::size_t ExtentRing::SlotBytes(std::size_t largest_extent) {
  return ReadBytes(largest_extent);
}

absl::StatusOr<std::unique_ptr<ExtentRing>> ExtentRing::Create(
    std::shared_ptr<const DirectFile> file, std::unique_ptr<BlockReads> reads,
    std::vector<Extent> extents, std::size_t slots, CheckContent check) {
  Check(!extents.empty() && slots >= 2, "extents and two slots");
  std::size_t largest = 0;
  for (const Extent& extent : extents)
    largest = std::max(largest, std::size_t{extent.bytes});
  // Mapped memory begins where a page does.
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<HostBuffer> memory,
                          HostBuffer::Allocate(slots * SlotBytes(largest)));
  return absl::WrapUnique(new ExtentRing(std::move(file), std::move(reads),
                                         std::move(extents), slots,
                                         std::move(check), std::move(memory)));
}

ExtentRing::ExtentRing(std::shared_ptr<const DirectFile> file,
                       std::unique_ptr<BlockReads> reads,
                       std::vector<Extent> extents, std::size_t slots,
                       CheckContent check, std::unique_ptr<HostBuffer> memory)
    : file_(std::move(file)),
      extents_(std::move(extents)),
      check_(std::move(check)),
      memory_(std::move(memory)),
      slot_bytes_(memory_->bytes() / slots),
      slots_(slots),
      under_way_(kDepth),
      checked_(extents_.size(), false),
      reads_(std::move(reads)) {
  for (int tag = 0; tag < kDepth; ++tag) free_tags_.push_back(tag);
}

ExtentRing::~ExtentRing() {
  {
    const std::lock_guard<std::mutex> lock(turn_);
    stopping_ = true;
  }
  room_.notify_all();
  if (thread_.joinable()) thread_.join();
}

absl::Span<std::byte> ExtentRing::BytesOf(std::uint64_t number) {
  const auto slot = static_cast<std::size_t>(number % slots_.size());
  return {memory_->data() + slot * slot_bytes_,
          ReadBytes(ExtentOf(number).bytes)};
}

void ExtentRing::BeginReads() {
  while (!stopping_ && !free_tags_.empty() && begin_ < next_ + slots_.size()) {
    Slot& slot = SlotOf(begin_);
    if (slot.state == Slot::State::kReading) return;
    // It is there, or has failed and nobody was told yet.
    if (slot.state != Slot::State::kEmpty && slot.number == begin_) {
      ++begin_;
      continue;
    }
    const int tag = free_tags_.back();
    free_tags_.pop_back();
    under_way_[static_cast<std::size_t>(tag)] = begin_;
    slot = {.state = Slot::State::kReading, .number = begin_, .status = {}};
    reads_->Begin(tag, ExtentOf(begin_).offset, BytesOf(begin_));
    ++begin_;
  }
}

void ExtentRing::Work() {
  std::unique_lock<std::mutex> lock(turn_);
  while (true) {
    BeginReads();
    if (free_tags_.size() == under_way_.size()) {
      if (stopping_) return;
      room_.wait(lock);
      continue;
    }
    lock.unlock();
    auto [tag, status] = reads_->Wait();
    const std::uint64_t number = under_way_[static_cast<std::size_t>(tag)];
    if (status.ok()) status = CheckBytes(number);
    lock.lock();
    free_tags_.push_back(tag);
    Slot& slot = SlotOf(number);
    slot.state = status.ok() ? Slot::State::kReady : Slot::State::kFailed;
    bytes_read_ += BytesOf(number).size();
    slot.status = std::move(status);
    arrived_.notify_all();
  }
}

absl::Status ExtentRing::CheckBytes(std::uint64_t number) {
  // The file's state is read after the bytes: a write that reached them has
  // moved the time of change on by then.
  BANYAN_ASSIGN_OR_RETURN(const FileState now, file_->CheckUnchanged());
  if (now.changed != checked_from_) {
    checked_.assign(extents_.size(), false);
    checked_from_ = now.changed;
  }
  const auto index = static_cast<std::size_t>(number % extents_.size());
  if (checked_[index]) return absl::OkStatus();
  const Extent& extent = extents_[index];
  const absl::Span<const std::byte> bytes = BytesOf(number).first(extent.bytes);
  const std::uint32_t found = Crc32(bytes);
  if (found != extent.checksum)
    return absl::DataLossError(absl::StrCat(
        file_->path(), ": expected checksum ", absl::Hex(extent.checksum),
        " of the ", extent.bytes, " bytes at offset ", extent.offset,
        ", found ", absl::Hex(found), ": the file was damaged"));
  if (check_) BANYAN_RETURN_IF_ERROR(check_(index, bytes));
  checked_[index] = true;
  return absl::OkStatus();
}

absl::StatusOr<absl::Span<const std::byte>> ExtentRing::Take(
    std::size_t index) {
  Check(index < extents_.size(), "an extent that there is");
  BANYAN_RETURN_IF_ERROR(file_->CheckUnchanged().status());
  if (!thread_.joinable()) thread_ = std::thread([this] { Work(); });
  std::unique_lock<std::mutex> lock(turn_);
  if (taken_) ++next_;
  taken_ = false;
  const std::size_t here = static_cast<std::size_t>(next_ % extents_.size());
  next_ += index >= here ? index - here : index + extents_.size() - here;
  begin_ = std::max(begin_, next_);
  room_.notify_one();
  Slot& slot = SlotOf(next_);
  arrived_.wait(lock, [&] {
    return slot.number == next_ && (slot.state == Slot::State::kReady ||
                                    slot.state == Slot::State::kFailed);
  });
  if (slot.state == Slot::State::kFailed) {
    slot.state = Slot::State::kEmpty;
    begin_ = next_;
    return slot.status;
  }
  taken_ = true;
  return BytesOf(next_).first(ExtentOf(next_).bytes);
}

std::uint64_t ExtentRing::bytes_read() const {
  const std::lock_guard<std::mutex> lock(turn_);
  return bytes_read_;
}

}  // namespace banyan
