// FileState: device, inode, size and times of a file. Two states differ if the
// file was replaced, written or cut in between.
#ifndef BANYAN_CORE_BASE_FILE_STATE_H_
#define BANYAN_CORE_BASE_FILE_STATE_H_

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_FILE_STATE_H_
