#include "experiments/commands/shared/output.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <system_error>
#include <thread>

#include "absl/strings/strip.h"
#include "core/base/output_files.h"
#include "core/terminal/columns.h"
#include "drafters/draft_vocabulary.h"

namespace banyan {

namespace {

namespace fs = std::filesystem;

// Hands on what a stream is given. A stream whose buffer fails is bad.
class FileBuffer : public std::streambuf {
 public:
  explicit FileBuffer(OutputFile& file) : file_(file) {}
  const absl::Status& status() const { return status_; }

 protected:
  std::streamsize xsputn(const char* from, std::streamsize count) override {
    if (status_.ok())
      status_ = file_.Append(
          absl::string_view(from, static_cast<std::size_t>(count)));
    return status_.ok() ? count : 0;
  }
  int_type overflow(int_type given) override {
    if (traits_type::eq_int_type(given, traits_type::eof())) return 0;
    const char byte = traits_type::to_char_type(given);
    return xsputn(&byte, 1) == 1 ? given : traits_type::eof();
  }

 private:
  OutputFile& file_;
  absl::Status status_;
};

// Whether a file of a folder is read where the folder is what a command is
// given: of a model or heads, of records, of an index.
bool IsReadFromFolders(const std::string& name) {
  static constexpr std::array<absl::string_view, 8> kNames = {
      "config.json",
      "tokenizer.json",
      "tokenizer_config.json",
      "chat_template.jinja",
      "index.json",
      "building.json",
      "model.safetensors.index.json",
      kVocabularyFile};
  static constexpr std::array<absl::string_view, 4> kEndings = {
      ".safetensors", ".banyan", ".tokens", ".suffixes"};
  for (const absl::string_view known : kNames)
    if (name == known) return true;
  for (const absl::string_view ending : kEndings)
    if (absl::EndsWith(name, ending)) return true;
  return false;
}

bool SameFile(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return fs::equivalent(a, b, error) && !error;
}

// The same place, whether or not a file is there yet.
bool SamePlace(const std::string& a, const std::string& b) {
  std::error_code error;
  return SameFile(a, b) ||
         (fs::weakly_canonical(a, error) == fs::weakly_canonical(b, error));
}

// Whether reading `input`, a path or any other text, would read `output`.
bool Reads(const std::string& input, const std::string& output) {
  if (SameFile(input, output)) return true;
  std::error_code error;
  for (fs::directory_iterator it(input, error), end; !error && it != end;
       it.increment(error))
    if (IsReadFromFolders(it->path().filename().string()) &&
        SameFile(it->path(), output))
      return true;
  return false;
}

bool IsOrdinary(const std::string& path) {
  std::error_code error;
  const fs::file_status about = fs::status(path, error);
  return fs::is_regular_file(about) || !fs::exists(about);
}

}  // namespace

OutputPath OutputPath::With(absl::string_view ending) const {
  OutputPath path;
  path.path_ = absl::StrCat(path_, ending);
  return path;
}

absl::Status CheckOutput(const GivenOption& output,
                         const std::vector<GivenOption>& others) {
  for (const std::string& path : output.values) {
    // Nothing is lost in a device, whoever else has it.
    if (!IsOrdinary(path)) continue;
    for (const GivenOption& other : others)
      for (const std::string& value : other.values)
        if (other.writes ? SamePlace(value, path) : Reads(value, path))
          return absl::InvalidArgumentError(
              absl::StrCat(output.name, ": expected a file of its own, found ",
                           path, ", which ", other.name, " ", value,
                           other.writes ? " is too" : " reads"));
  }
  for (const std::string& path : output.values)
    BANYAN_RETURN_IF_ERROR(CheckWritable(path));
  return absl::OkStatus();
}

absl::Status WriteOutput(
    const OutputPath& path,
    const std::function<absl::Status(std::ostream&)>& write) {
  if (path.empty()) return write(std::cout);
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file,
                          OutputFile::Open(path.path()));
  FileBuffer buffer(*file);
  std::ostream out(&buffer);
  const absl::Status written = write(out);
  BANYAN_RETURN_IF_ERROR(buffer.status());  // it says which file
  BANYAN_RETURN_IF_ERROR(written);
  return file->Finish();
}

absl::Status WriteOutput(const OutputPath& path, absl::string_view text) {
  if (path.empty() && isatty(STDOUT_FILENO) == 1) {
    std::cout << VisibleLines(text);
    return absl::OkStatus();
  }
  return WriteOutput(path, [text](std::ostream& out) {
    out << text;
    return absl::OkStatus();
  });
}

absl::Status AppendOutput(const OutputPath& path, absl::string_view text) {
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file,
                          OutputFile::OpenEnd(path.path()));
  BANYAN_RETURN_IF_ERROR(file->Append(text));
  return file->Finish();
}

std::string HelpParagraph(absl::string_view text) {
  std::string paragraph;
  for (const std::string& line : Wrapped(text, kHelpColumns))
    absl::StrAppend(&paragraph, line, "\n");
  return paragraph;
}

std::string HelpList(absl::string_view heading, absl::Span<const HelpRow> rows,
                     int column) {
  if (rows.empty()) return "";
  std::string list = absl::StrCat("\n", heading, ":\n");
  for (const HelpRow& row : rows) {
    std::string beside = absl::StrCat("  ", row.name);
    if (Columns(beside) + 2 > column && !row.text.empty()) {
      absl::StrAppend(&list, beside, "\n");
      beside.clear();
    }
    const std::vector<std::string> lines =
        Wrapped(row.text, kHelpColumns - column);
    if (lines.empty()) absl::StrAppend(&list, beside, "\n");
    for (const std::string& line : lines) {
      absl::StrAppend(&list, Padded(beside, column), line, "\n");
      beside.clear();
    }
  }
  return list;
}

std::string Alternatives(const std::vector<std::string>& words) {
  std::string all;
  for (std::size_t i = 0; i < words.size(); ++i)
    absl::StrAppend(&all,
                    i == 0                  ? ""
                    : i + 1 == words.size() ? " or "
                                            : ", ",
                    words[i]);
  return all;
}

void PrintWarning(const std::string& warning) {
  std::cerr << "banyan: warning: " << VisibleLines(warning) << "\n";
}

void PrintWarnings(const RecordSet& set) {
  if (!set.loaded.empty()) PrintWarning(set.loaded);
  for (const std::string& warning : set.warnings) PrintWarning(warning);
}

QuietRank::QuietRank(const Launch& launch) : launch_(launch) {
  if (launch_.rank == 0) return;
  out_ = std::cout.rdbuf(&nowhere_);
  err_ = std::cerr.rdbuf(&kept_);
}

QuietRank::~QuietRank() {
  if (launch_.rank == 0) return;
  std::cout.rdbuf(out_);
  std::cerr.rdbuf(err_);
}

void QuietRank::Tell() const {
  if (launch_.rank == 0) return;
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  std::istringstream lines(kept_.str());
  std::string last;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) last = std::move(line);
  std::fputs(absl::StrCat("banyan: rank ", launch_.rank, ": ",
                          absl::StripPrefix(last, "banyan: "), "\n")
                 .c_str(),
             stderr);
}

}  // namespace banyan
