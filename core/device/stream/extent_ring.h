// Reads a large file past the system's page cache, and ahead of its use.
#ifndef BANYAN_CORE_DEVICE_STREAM_EXTENT_RING_H_
#define BANYAN_CORE_DEVICE_STREAM_EXTENT_RING_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/input_files.h"
#include "core/device/host_buffer.h"

namespace banyan {

// DirectFile: a file that is read past the system's page cache, so that each
// byte read comes from the disk and takes no memory but the reader's.

// Offset, size and address of every read are multiples of this.
inline constexpr std::size_t kDirectBlock = 4096;

// Any number of threads may use one at once.
class DirectFile {
 public:
  // NotFound if there is none, InvalidArgument if it cannot be read or is no
  // ordinary file. Where the file system refuses O_DIRECT the file is read
  // through the page cache: direct() is false.
  static absl::StatusOr<std::unique_ptr<DirectFile>> Open(
      const std::string& path);
  ~DirectFile();
  DirectFile(const DirectFile&) = delete;
  DirectFile& operator=(const DirectFile&) = delete;

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  bool direct() const { return direct_; }
  // Returns the file's current state. DataLoss if its size or its time of
  // writing changed since it was opened. A file that was replaced or removed is
  // still read whole.
  absl::StatusOr<FileState> CheckUnchanged() const;

 private:
  DirectFile(std::string path, int descriptor, bool direct, FileState state)
      : path_(std::move(path)),
        descriptor_(descriptor),
        direct_(direct),
        state_(state) {}

  std::string path_;
  int descriptor_;
  bool direct_;
  FileState state_;  // as it was opened
};

// One read of a DirectFile, in as many system calls as it takes.
class PendingRead {
 public:
  static constexpr int kMostInterruptions = 1000;

  PendingRead() = default;
  PendingRead(const DirectFile& file, std::uint64_t offset,
              absl::Span<std::byte> to)
      : file_(&file), offset_(offset), to_(to) {}

  // Where the next call reads from, and to. Nothing is left once it is done.
  std::uint64_t offset() const { return offset_; }
  absl::Span<std::byte> left() const { return to_; }
  // Takes what the system returned for it: the number of bytes, or a negative
  // errno. A short read goes on, and an interrupted one is done again, up to
  // kMostInterruptions times in a row: some file systems never read a file that
  // is not to block. DataLoss if the file ends early, Internal for any other
  // error, with file and offset.
  absl::Status Take(std::int64_t result);

 private:
  const DirectFile* file_ = nullptr;
  std::uint64_t offset_ = 0;
  absl::Span<std::byte> to_;
  int interruptions_ = 0;  // in a row
};

// BlockReads: reads of one file, several under way at once.

// For one thread. One that is destroyed waits for the reads under way.
class BlockReads {
 public:
  struct Done {
    int tag;
    absl::Status status;
  };

  virtual ~BlockReads() = default;
  // "io_uring" or "threads".
  virtual std::string name() const = 0;
  // Begins to fill `to` with the file's bytes from `offset` on. Requires that
  // fewer than `depth` reads are under way, none of them with this tag, a
  // number below `depth`. `to` belongs to the read until Wait gives its tag.
  virtual void Begin(int tag, std::uint64_t offset,
                     absl::Span<std::byte> to) = 0;
  // Waits for one of the reads under way, of which there is one. A read that
  // the system refuses ends with its error.
  virtual Done Wait() = 0;
};

// By io_uring. Unavailable where the system refuses it, or does not read the
// file's first block by it.
absl::StatusOr<std::unique_ptr<BlockReads>> UringReads(
    std::shared_ptr<const DirectFile> file, int depth);
// By `depth` threads, each in a call of its own.
std::unique_ptr<BlockReads> ThreadReads(std::shared_ptr<const DirectFile> file,
                                        int depth);

// ExtentRing: keeps the next extents of a file in memory, read ahead in the
// order in which passes use them.
//
//   const auto turn = ring.Turn();
//   for (std::size_t i = first; i < end; ++i) {
//     BANYAN_ASSIGN_OR_RETURN(absl::Span<const std::byte> bytes, ring.Take(i));
//     ...  // until the next Take
//   }

// A run of bytes that is read by one request and checked by its checksum.
struct Extent {
  std::uint64_t offset = 0;  // a multiple of kDirectBlock
  std::uint32_t bytes = 0;
  std::uint32_t checksum = 0;  // Crc32 (core/base/bytes.h)
};

// Reads begin when the first extent is taken. They go on until every slot is
// full, between passes too, so that extents arrive while the program does other
// work. After the last extent the first follows.
class ExtentRing {
 public:
  // Reads under way at once: a virtual disk gave 2.07 GB/s with four of 1 MiB,
  // 1.70 with one, 1.47 with sixteen.
  static constexpr int kDepth = 4;

  // What is wrong with the bytes of an extent that have its checksum. Called on
  // a thread of the ring's own.
  using CheckContent = std::function<absl::Status(
      std::size_t index, absl::Span<const std::byte> bytes)>;

  // Memory for the slots, of the largest extent's size each. Requires extents
  // and two slots. ResourceExhausted if there is no memory. `reads` are of
  // `file` and take kDepth at once.
  static absl::StatusOr<std::unique_ptr<ExtentRing>> Create(
      std::shared_ptr<const DirectFile> file, std::unique_ptr<BlockReads> reads,
      std::vector<Extent> extents, std::size_t slots,
      CheckContent check = nullptr);
  ~ExtentRing();
  ExtentRing(const ExtentRing&) = delete;
  ExtentRing& operator=(const ExtentRing&) = delete;

  // What a slot takes for extents of up to `largest_extent` bytes.
  static std::size_t SlotBytes(std::size_t largest_extent);
  std::size_t bytes() const { return memory_->bytes(); }
  const std::string& path() const { return file_->path(); }

  // Held by the thread that takes extents.
  [[nodiscard]] std::unique_lock<std::mutex> Turn() {
    return std::unique_lock<std::mutex>(takers_);
  }
  // Waits for extent `index`, and lends its bytes until the next call. Extents
  // between the last one taken and this one are given up. Fails as the read
  // does; DataLoss if the file was changed, or if the extent's bytes do not
  // have its checksum, which is computed the first time it is read, and anew
  // where the file was renamed or written with its time put back. A later call
  // reads it again.
  absl::StatusOr<absl::Span<const std::byte>> Take(std::size_t index);

  // Bytes read so far.
  std::uint64_t bytes_read() const;

 private:
  struct Slot {
    enum class State { kEmpty, kReading, kReady, kFailed };
    State state = State::kEmpty;
    std::uint64_t number = 0;  // of the extent, counted on from pass to pass
    absl::Status status;
  };

  ExtentRing(std::shared_ptr<const DirectFile> file,
             std::unique_ptr<BlockReads> reads, std::vector<Extent> extents,
             std::size_t slots, CheckContent check,
             std::unique_ptr<HostBuffer> memory);
  const Extent& ExtentOf(std::uint64_t number) const {
    return extents_[static_cast<std::size_t>(number % extents_.size())];
  }
  Slot& SlotOf(std::uint64_t number) {
    return slots_[static_cast<std::size_t>(number % slots_.size())];
  }
  absl::Span<std::byte> BytesOf(std::uint64_t number);
  // The reading thread.
  void Work();
  // Begins reads while there is room. Requires turn_.
  void BeginReads();
  // That the bytes of an extent are those that were written.
  absl::Status CheckBytes(std::uint64_t number);

  std::shared_ptr<const DirectFile> file_;
  std::vector<Extent> extents_;
  CheckContent check_;
  std::unique_ptr<HostBuffer> memory_;
  std::size_t slot_bytes_;

  std::mutex takers_;
  mutable std::mutex turn_;  // guards what follows
  std::condition_variable room_, arrived_;
  std::vector<Slot> slots_;
  std::uint64_t next_ = 0;   // of all from here on one a slot is kept
  std::uint64_t begin_ = 0;  // the next to be read
  bool taken_ = false;       // next_ is lent
  bool stopping_ = false;
  std::uint64_t bytes_read_ = 0;

  // The reading thread's.
  std::vector<std::uint64_t> under_way_;  // by tag
  std::vector<int> free_tags_;
  std::vector<bool> checked_;  // by extent, since the file was as follows
  FileTime checked_from_;
  std::unique_ptr<BlockReads> reads_;
  std::thread thread_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_STREAM_EXTENT_RING_H_
