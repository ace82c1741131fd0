// What commands print and write: help, warnings, files, and the output of a
// rank beside rank 0.
#ifndef BANYAN_EXPERIMENTS_COMMANDS_SHARED_OUTPUT_H_
#define BANYAN_EXPERIMENTS_COMMANDS_SHARED_OUTPUT_H_

#include <functional>
#include <ostream>
#include <sstream>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/device/ranks/communicator.h"
#include "experiments/records/record_set.h"

namespace banyan {

// The files that commands write.

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
// (core/base/output_files.h), or with standard output if `path` is empty. Fails
// as `write` does, or naming the file if it cannot be written.
absl::Status WriteOutput(
    const OutputPath& path,
    const std::function<absl::Status(std::ostream&)>& write);
// A terminal is given the text as VisibleLines().
absl::Status WriteOutput(const OutputPath& path, absl::string_view text);

// Adds `text` at the file's end, after what other calls have added. Internal,
// naming the file, if it cannot be written.
absl::Status AppendOutput(const OutputPath& path, absl::string_view text);

// The layout of help texts: paragraphs and lists of two columns.

inline constexpr int kHelpColumns = 80;

// A command or an option as it is typed, and what it does.
struct HelpRow {
  std::string name;
  std::string text;
};

// Returns `text` in lines of at most kHelpColumns.
std::string HelpParagraph(absl::string_view text);

// Returns an empty line, `heading`, and the rows: the names after two spaces,
// the texts beside them from `column` on, in lines of at most kHelpColumns. A
// name that leaves no two spaces before `column` has a line of its own. Returns
// "" without rows.
std::string HelpList(absl::string_view heading, absl::Span<const HelpRow> rows,
                     int column);

// Returns "a, b or c".
std::string Alternatives(const std::vector<std::string>& words);

// What a command's user should know though nothing failed.

// A line on standard error, so that what is printed to standard output, JSON
// too, is the same with it and without.
void PrintWarning(const std::string& warning);

// What a reader of the set's numbers should know, that a machine was loaded
// too.
void PrintWarnings(const RecordSet& set);

// The output of a rank beside rank 0, which prints for all.

// While it exists, what this process writes to std::cout is dropped and what it
// writes to std::cerr is kept, if it is such a rank.
class QuietRank {
 public:
  explicit QuietRank(const Launch& launch);
  ~QuietRank();
  QuietRank(const QuietRank&) = delete;
  QuietRank& operator=(const QuietRank&) = delete;

  // Of a program that failed: prints the last line that was kept, with the
  // rank's number. Rank 0, which often fails alike, has half a second to say it
  // first: then its end ends this process.
  void Tell() const;

 private:
  class Nowhere : public std::streambuf {
   protected:
    int_type overflow(int_type c) override { return traits_type::not_eof(c); }
    std::streamsize xsputn(const char* /*text*/, std::streamsize n) override {
      return n;
    }
  };

  Launch launch_;
  Nowhere nowhere_;
  std::stringbuf kept_;
  std::streambuf* out_ = nullptr;  // before
  std::streambuf* err_ = nullptr;
};

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_COMMANDS_SHARED_OUTPUT_H_
