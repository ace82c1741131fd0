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
#ifndef BANYAN_CORE_BASE_RESUMED_FILE_H_
#define BANYAN_CORE_BASE_RESUMED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/write_target.h"

namespace banyan {

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

#endif  // BANYAN_CORE_BASE_RESUMED_FILE_H_
