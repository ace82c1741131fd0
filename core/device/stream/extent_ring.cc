#include "core/device/stream/extent_ring.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <system_error>

#include "absl/memory/memory.h"
#include "core/base/bytes.h"
#include "core/base/check.h"

namespace banyan {

namespace {

std::string Reason(int code) { return std::generic_category().message(code); }

absl::Status OpenError(const std::string& path, int code) {
  const std::string message = absl::StrCat(path, ": ", Reason(code));
  return code == ENOENT ? absl::NotFoundError(message)
                        : absl::InvalidArgumentError(message);
}

// Whether the file system lets this descriptor be read directly: some open the
// file so and refuse to read it.
bool ReadsDirectly(int descriptor) {
  alignas(kDirectBlock) std::byte block[kDirectBlock];
  ssize_t result = -1;
  do result = pread(descriptor, block, sizeof(block), 0);
  while (result < 0 && errno == EINTR);
  return result >= 0 || errno != EINVAL;
}

absl::StatusOr<FileState> StateOfOpen(const std::string& path, int descriptor) {
  struct stat about = {};
  if (fstat(descriptor, &about) != 0) return OpenError(path, errno);
  if (!S_ISREG(about.st_mode))
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected an ordinary file"));
  return StateOf(about);
}

}  // namespace

absl::StatusOr<std::unique_ptr<DirectFile>> DirectFile::Open(
    const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  int descriptor = open(path.c_str(), kFlags | O_DIRECT);
  if (descriptor < 0 && errno != EINVAL) return OpenError(path, errno);
  const bool direct = descriptor >= 0 && ReadsDirectly(descriptor);
  if (!direct) {
    if (descriptor >= 0) close(descriptor);
    descriptor = open(path.c_str(), kFlags);
    if (descriptor < 0) return OpenError(path, errno);
  }
  const absl::StatusOr<FileState> state = StateOfOpen(path, descriptor);
  if (!state.ok()) {
    close(descriptor);
    return state.status();
  }
  return absl::WrapUnique(new DirectFile(path, descriptor, direct, *state));
}

DirectFile::~DirectFile() { close(descriptor_); }

absl::StatusOr<FileState> DirectFile::CheckUnchanged() const {
  BANYAN_ASSIGN_OR_RETURN(const FileState state,
                          StateOfOpen(path_, descriptor_));
  if (state.bytes == state_.bytes && state.written == state_.written)
    return state;
  return absl::DataLossError(absl::StrCat(
      path_, ": the file was changed while it was in use: expected ",
      state_.bytes, " bytes, written before it was opened, found ", state.bytes,
      state.bytes == state_.bytes ? ", written since" : ""));
}

absl::Status PendingRead::Take(std::int64_t result) {
  const bool again = result == -EINTR || result == -EAGAIN;
  interruptions_ = again ? interruptions_ + 1 : 0;
  if (again && interruptions_ < kMostInterruptions) return absl::OkStatus();
  if (result < 0)
    return absl::InternalError(absl::StrCat(
        file_->path(), ": ", Reason(static_cast<int>(-result)),
        " while reading ", to_.size(), " bytes at offset ", offset_));
  auto taken = static_cast<std::size_t>(result);
  if (file_->direct() && taken < to_.size())
    taken = taken / kDirectBlock * kDirectBlock;
  if (taken == 0)
    return absl::DataLossError(absl::StrCat(
        file_->path(), ": expected ", to_.size(), " bytes at offset ", offset_,
        ", found ", result, ": the file was cut short"));
  offset_ += taken;
  to_ = to_.subspan(taken);
  return absl::OkStatus();
}

namespace {

class Threads : public BlockReads {
 public:
  Threads(std::shared_ptr<const DirectFile> file, int depth)
      : file_(std::move(file)) {
    for (int i = 0; i < depth; ++i) threads_.emplace_back([this] { Work(); });
  }
  ~Threads() override {
    {
      const std::lock_guard<std::mutex> lock(turn_);
      stopping_ = true;
    }
    begun_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  std::string name() const override { return "threads"; }

  void Begin(int tag, std::uint64_t offset, absl::Span<std::byte> to) override {
    {
      const std::lock_guard<std::mutex> lock(turn_);
      waiting_.push_back({tag, PendingRead(*file_, offset, to)});
    }
    begun_.notify_one();
  }

  Done Wait() override {
    std::unique_lock<std::mutex> lock(turn_);
    ended_.wait(lock, [this] { return !done_.empty(); });
    Done done = std::move(done_.front());
    done_.pop_front();
    return done;
  }

 private:
  struct Task {
    int tag;
    PendingRead read;
  };

  void Work() {
    std::unique_lock<std::mutex> lock(turn_);
    while (true) {
      begun_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;  // stopping, and nothing is under way
      Task task = waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      absl::Status status;
      while (status.ok() && !task.read.left().empty()) {
        const ssize_t result = pread(
            file_->descriptor(), task.read.left().data(),
            task.read.left().size(), static_cast<off_t>(task.read.offset()));
        status = task.read.Take(result < 0 ? -errno : result);
      }
      lock.lock();
      done_.push_back({task.tag, status});
      ended_.notify_one();
    }
  }

  std::shared_ptr<const DirectFile> file_;
  std::mutex turn_;
  std::condition_variable begun_, ended_;
  std::deque<Task> waiting_;
  std::deque<Done> done_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<BlockReads> ThreadReads(std::shared_ptr<const DirectFile> file,
                                        int depth) {
  return std::make_unique<Threads>(std::move(file), depth);
}

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
