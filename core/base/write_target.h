// What the writers of files share (core/base/output_file.h, resumed_file.h):
// where a path leads, and the file beside it that is written first.
#ifndef BANYAN_CORE_BASE_WRITE_TARGET_H_
#define BANYAN_CORE_BASE_WRITE_TARGET_H_

#include <sys/stat.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace banyan {

struct WriteTarget {
  std::string path;  // as it was given
  // The ordinary file to replace, which need not be there: where the links at
  // `path` lead. Empty if a device or a pipe is there.
  std::string file;
  std::optional<struct stat> old;  // of the file, where it is there

  // What is written until it gets the file's name.
  std::string Partial() const { return file + ".partial"; }
};

// InvalidArgument, "path: reason", if nothing can be written there: a folder,
// links in a circle, no permission.
absl::StatusOr<WriteTarget> FindTarget(const std::string& path);

// A descriptor of the target's partial file, which is made where it is missing.
// It is locked, and has the owner and the permissions of the file to replace.
// Its bytes stay as they are. `access` is O_WRONLY or O_RDWR. InvalidArgument,
// with the name of what is at fault, if it cannot be opened or another process
// is writing it.
absl::StatusOr<int> OpenPartial(const WriteTarget& target, int access);

// InvalidArgument, "path: reason", for an errno.
absl::Status CannotWrite(const std::string& path, int code);

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_WRITE_TARGET_H_
