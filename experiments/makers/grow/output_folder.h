// The folder that a command fills: all of it, or nothing.
#ifndef BANYAN_EXPERIMENTS_MAKERS_GROW_OUTPUT_FOLDER_H_
#define BANYAN_EXPERIMENTS_MAKERS_GROW_OUTPUT_FOLDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/output_files.h"

namespace banyan {

// InvalidArgument, "PATH: ...", if the disk of `folder` has fewer than `bytes`
// free.
absl::Status RequireSpace(const std::string& path, const std::string& folder,
                          std::int64_t bytes);

// Unless Keep() is called, what was written goes with this object, and the
// folder too if it was made for it. Until then the folder holds the file
// `unfinished.partial`: what a process that was killed left is known by it.
class OutputFolder {
 public:
  // Makes the folder where it is missing, and empties one that a killed process
  // left. Fails with InvalidArgument if it cannot, if it holds anything else,
  // or if another process is filling it.
  static absl::StatusOr<std::unique_ptr<OutputFolder>> Make(
      const std::string& path);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  const std::string& path() const { return path_; }
  // InvalidArgument if the disk has fewer than `bytes` free.
  absl::Status RequireSpace(std::int64_t bytes) const;
  // The path of a file that the caller is about to write.
  std::string File(absl::string_view name);
  // Fails as OutputFile.
  absl::Status Write(absl::string_view name, absl::string_view text);
  // Copies FROM/NAME if there is such a file. Fails as Write.
  absl::Status CopyIfThere(const std::string& from, absl::string_view name);

  void Keep();

 private:
  OutputFolder(std::string path, bool made);
  // Locks the folder, and removes what a killed process left.
  absl::Status Begin();

  std::string path_;
  bool made_;
  bool kept_ = false;
  std::unique_ptr<OutputFile> unfinished_;  // never finished
  std::vector<std::string> files_;
};

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_MAKERS_GROW_OUTPUT_FOLDER_H_
