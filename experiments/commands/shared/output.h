// The files that commands write.
#ifndef BANYAN_EXPERIMENTS_COMMANDS_SHARED_OUTPUT_H_
#define BANYAN_EXPERIMENTS_COMMANDS_SHARED_OUTPUT_H_

#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace banyan {

// The path of a file to write. Only an option has one (Command::Option), so
// none is written that was not held against the command's inputs. Empty: the
// option was not given.
class OutputPath {
 public:
  bool empty() const { return path_.empty(); }
  const std::string& path() const { return path_; }
  // The path with `ending` after it.
  OutputPath With(absl::string_view ending) const;

 private:
  friend class Command;

  std::string path_;
};

// An option and the values it was given.
struct GivenOption {
  std::string name;
  std::vector<std::string> values;
  bool writes = false;  // to the paths that the values are
};

// OK if the file that `output` names can be written and is none that the
// command reads: none that the value of a text option names, nor, of a folder
// named so, a file that models, records and indexes are read from. Two outputs
// are two files.
absl::Status CheckOutput(const GivenOption& output,
                         const std::vector<GivenOption>& others);

// Calls `write` with the file, which it replaces whole if that goes well
// (core/base/output_file.h), or with standard output if `path` is empty. Fails
// as `write` does, or naming the file if it cannot be written.
absl::Status WriteOutput(
    const OutputPath& path,
    const std::function<absl::Status(std::ostream&)>& write);
// A terminal is given the text as VisibleLines().
absl::Status WriteOutput(const OutputPath& path, absl::string_view text);

// Adds `text` at the file's end, after what other calls have added. Internal,
// naming the file, if it cannot be written.
absl::Status AppendOutput(const OutputPath& path, absl::string_view text);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_COMMANDS_SHARED_OUTPUT_H_
