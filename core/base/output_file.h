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
#ifndef BANYAN_CORE_BASE_OUTPUT_FILE_H_
#define BANYAN_CORE_BASE_OUTPUT_FILE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_OUTPUT_FILE_H_
