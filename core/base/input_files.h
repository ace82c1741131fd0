// Reads files: whole, or mapped into memory.
#ifndef BANYAN_CORE_BASE_INPUT_FILES_H_
#define BANYAN_CORE_BASE_INPUT_FILES_H_

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/base/common.h"

namespace banyan {

// Reading a whole file, with the reason when it cannot be read.

// The bytes of the file at `path`. Fails with NotFound ("path: No such file or
// directory") if there is none, and with InvalidArgument if it cannot be read
// (a directory, no permission), holds more than `max_bytes` or is no ordinary
// file: nobody may ever write into a pipe.
//
// A stream that the program was given is read to its end all the same:
// /dev/stdin, and /dev/fd/N, as which a shell hands over `<(command)`. Never
// reads much more than `max_bytes`, so an endless one is refused.
absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     std::size_t max_bytes);

// FileState: device, inode, size and times of a file. Two states differ if the
// file was replaced, written or cut in between.
struct FileTime {
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;

  bool operator==(const FileTime&) const = default;
};

struct FileState {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  FileTime written;  // can be set back by whoever writes
  FileTime changed;  // also by a new name, owner or permission; cannot be set

  bool operator==(const FileState&) const = default;
  bool IsSameFile(const FileState& other) const {
    return device == other.device && inode == other.inode;
  }
};

FileState StateOf(const struct stat& about);
// Of the file at `path`, links followed; none if the system does not tell.
std::optional<FileState> FileStateAt(const std::string& path);

// Lets a program live on when a file that it has mapped is cut short.
struct GuardedRange;

// While one lives, a read in `mapping` of a page that its file no longer has
// (SIGBUS) finds zeros there, and was_hit() says so; elsewhere SIGBUS does what
// it did before. Any number may live at once, on any threads.
class CutGuard {
 public:
  // `mapping` begins where a page does, was mapped for reading and stays mapped
  // while this lives.
  explicit CutGuard(absl::Span<const std::byte> mapping);

  bool was_hit() const;

 private:
  struct Freed {
    void operator()(GuardedRange* range) const;
  };
  std::unique_ptr<GuardedRange, Freed> range_;
};

// A file mapped into memory, to be read and never written.

// Any number of threads may use one at once. The file must not be changed while
// it is open. What was cut off since is read as zeros, so that whoever reads
// calls CheckLength() afterwards.
class MappedFile {
 public:
  // NotFound ("path: No such file or directory") if there is none;
  // InvalidArgument if it cannot be read or is no ordinary file.
  static absl::StatusOr<std::unique_ptr<MappedFile>> Open(
      const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  // Begin where a page does; an empty file has none. Lives as long as this.
  absl::Span<const std::byte> bytes() const { return bytes_; }

  // DataLoss, "path: expected N bytes ..., found M", if the file was cut short
  // since it was opened, or zeros were read because it was. One that was
  // replaced or removed is still read whole.
  absl::Status CheckLength() const;

  // Gives the memory that holds `part`, some of bytes(), back to the system, as
  // far as nothing else shares its pages. It is read from the file again.
  void Release(absl::Span<const std::byte> part) const;

 private:
  struct Mapping {
    absl::Span<const std::byte> bytes;
    FileState state;
  };
  MappedFile(std::string path, const Mapping& mapping)
      : path_(std::move(path)),
        bytes_(mapping.bytes),
        state_(mapping.state),
        guard_(bytes_) {}
  static absl::StatusOr<Mapping> Map(const std::string& path, int descriptor);

  std::string path_;
  absl::Span<const std::byte> bytes_;  // the mapping, owned
  FileState state_;                    // as it was opened
  std::optional<CutGuard> guard_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_INPUT_FILES_H_
