// Writes files: in one go (OutputFile), or over several runs of a program
// (ResumedFile).
#ifndef BANYAN_CORE_BASE_OUTPUT_FILES_H_
#define BANYAN_CORE_BASE_OUTPUT_FILES_H_

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/base/common.h"

namespace banyan {

// What the writers of files share:
// where a path leads, and the file beside it that is written first.
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

// Writing a file: the one way, for every command.
//
//   BANYAN_ASSIGN_OR_RETURN(auto file, OutputFile::Open(path));
//   BANYAN_RETURN_IF_ERROR(file->Append(bytes));  // again and again
//   BANYAN_RETURN_IF_ERROR(file->Finish());
//
// An ordinary file is replaced whole by Finish(), with its permissions kept:
// until then the new one is called PATH.partial, and a writer that is dropped
// before leaves PATH as it was. A link stays, and its target is replaced. What
// is no ordinary file (a device, a pipe) is written through, and so is a stream
// that the program was given: /dev/stdout, /dev/stderr, /dev/fd/N.
class OutputFile {
 public:
  // InvalidArgument, "path: reason", if nothing can be written there: a folder,
  // no permission, another process that writes it just now.
  static absl::StatusOr<std::unique_ptr<OutputFile>> Open(
      const std::string& path);
  // Written through, from its end on. The file is there.
  static absl::StatusOr<std::unique_ptr<OutputFile>> OpenEnd(
      const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Internal, "path: reason", if the bytes cannot be written (a full disk).
  absl::Status Append(absl::Span<const std::byte> bytes);
  absl::Status Append(absl::string_view text);

  // Has the disk take the file and gives it its name. Fails as Append. The
  // last call.
  absl::Status Finish();

 private:
  OutputFile(std::string path, std::string target, int descriptor)
      : path_(std::move(path)),
        target_(std::move(target)),
        descriptor_(descriptor) {}
  std::string PartialPath() const { return target_ + ".partial"; }
  absl::Status Put(absl::string_view bytes);
  absl::Status Fail(int code) const;

  std::string path_;     // as it was given
  std::string target_;   // the ordinary file to replace; empty: written through
  int descriptor_;       // -1: closed
  std::string waiting_;  // appended, not yet written
};

// OK if Open(path) and Append could do their work, as far as that can be told
// before: nothing is written, a partial file that is there keeps its bytes, and
// a pipe is not opened.
absl::Status CheckWritable(const std::string& path);

// ResumedFile: a file that is written over several runs of a program, of which
// any may be killed.
//
//   BANYAN_ASSIGN_OR_RETURN(auto file, ResumedFile::Open(path));
//   ... file->size() bytes are there; file->Write(at, bytes) again and again
//   BANYAN_RETURN_IF_ERROR(file->Finish());
//
// Until Finish() it is called PATH.partial, and stays when its writer is
// dropped. A link stays, and its target is replaced: the partial file lies
// beside the target. The owner and the permissions of an old file are kept.
class ResumedFile {
 public:
  // InvalidArgument, "path: reason", if nothing can be written there, what is
  // there is no ordinary file, or another process is writing it.
  static absl::StatusOr<std::unique_ptr<ResumedFile>> Open(
      const std::string& path);
  ~ResumedFile();
  ResumedFile(const ResumedFile&) = delete;
  ResumedFile& operator=(const ResumedFile&) = delete;

  // The path until Finish().
  std::string partial() const { return target_.Partial(); }
  // Each fails with Internal, "path: reason", where the path is partial().
  absl::StatusOr<std::uint64_t> size() const;
  absl::Status Read(std::uint64_t at, absl::Span<std::byte> to) const;
  // Bytes before `at` that were never written are zeros.
  absl::Status Write(std::uint64_t at, absl::Span<const std::byte> bytes);
  absl::Status Resize(std::uint64_t bytes);
  // Has the disk take all that was written.
  absl::Status Sync();
  // Sync, and gives the file its name. Names the given path if it cannot. The
  // last call.
  absl::Status Finish();

 private:
  ResumedFile(WriteTarget target, int descriptor)
      : target_(std::move(target)), descriptor_(descriptor) {}
  absl::Status Fail(int code) const;

  WriteTarget target_;
  int descriptor_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_OUTPUT_FILES_H_
