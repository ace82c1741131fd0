// A file mapped into memory, to be read and never written.
#ifndef BANYAN_CORE_BASE_MAPPED_FILE_H_
#define BANYAN_CORE_BASE_MAPPED_FILE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace banyan {

// Any number of threads may use one at once. The file must not be changed or
// cut short while it is open: the system then ends the program.
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

  // Gives the memory that holds `part`, some of bytes(), back to the system, as
  // far as nothing else shares its pages. It is read from the file again.
  void Release(absl::Span<const std::byte> part) const;

 private:
  MappedFile(std::string path, absl::Span<const std::byte> bytes)
      : path_(std::move(path)), bytes_(bytes) {}

  std::string path_;
  absl::Span<const std::byte> bytes_;  // the mapping, owned
};

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_MAPPED_FILE_H_
