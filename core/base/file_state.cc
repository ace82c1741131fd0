#include "core/base/file_state.h"

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

namespace banyan {

FileState StateOf(const struct stat& about) {
  return {.device = about.st_dev,
          .inode = about.st_ino,
          .bytes = static_cast<std::uint64_t>(about.st_size),
          .written = {about.st_mtim.tv_sec, about.st_mtim.tv_nsec},
          .changed = {about.st_ctim.tv_sec, about.st_ctim.tv_nsec}};
}

std::optional<FileState> FileStateAt(const std::string& path) {
  struct stat about = {};
  if (stat(path.c_str(), &about) != 0) return std::nullopt;
  return StateOf(about);
}

}  // namespace banyan
