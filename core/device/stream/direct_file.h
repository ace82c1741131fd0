// DirectFile: a file that is read past the system's page cache, so that each
// byte read comes from the disk and takes no memory but the reader's.
#ifndef BANYAN_CORE_DEVICE_STREAM_DIRECT_FILE_H_
#define BANYAN_CORE_DEVICE_STREAM_DIRECT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/file_state.h"

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_STREAM_DIRECT_FILE_H_
