// A file mapped into memory, to be read and never written.
#ifndef BANYAN_CORE_BASE_MAPPED_FILE_H_
#define BANYAN_CORE_BASE_MAPPED_FILE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/cut_guard.h"
#include "core/base/file_state.h"

namespace banyan {

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

#endif  // BANYAN_CORE_BASE_MAPPED_FILE_H_
