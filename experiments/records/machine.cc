#include "experiments/records/machine.h"

#include <algorithm>
#include <filesystem>
#include <map>

namespace banyan {

void AddDifference(absl::string_view name, absl::string_view a,
                   absl::string_view b, std::vector<std::string>& differences) {
  const auto text = [](absl::string_view value) {
    return value.empty() ? absl::string_view("-") : value;
  };
  if (a != b)
    differences.push_back(absl::StrCat(name, ": ", text(a), " | ", text(b)));
}

std::vector<std::string> MachineDifferences(const records::Context& a,
                                            const records::Context& b) {
  std::vector<std::string> out;
  const auto compare = [&out](absl::string_view name, absl::string_view of_a,
                              absl::string_view of_b) {
    AddDifference(name, of_a, of_b, out);
  };
  compare("revision", a.build().revision(), b.build().revision());
  compare("compiler", a.build().compiler(), b.build().compiler());
  compare("flags", a.build().flags(), b.build().flags());
  compare("build type", a.build().type(), b.build().type());
  compare("cpu", a.machine().cpu(), b.machine().cpu());
  compare("device", DeviceOf(a.machine()), DeviceOf(b.machine()));
  if (a.machine().has_gpu() || b.machine().has_gpu())
    compare("gpu", ProcessorOf(a.machine()), ProcessorOf(b.machine()));
  compare("instruction set", a.machine().instruction_set(),
          b.machine().instruction_set());
  compare("order of sums", SumsOf(a.machine()), SumsOf(b.machine()));
  compare("cores", absl::StrCat(a.machine().cores()),
          absl::StrCat(b.machine().cores()));
  compare("threads", absl::StrCat(a.machine().threads()),
          absl::StrCat(b.machine().threads()));
  return out;
}

namespace {

struct Read {
  std::string path;
  std::vector<std::string> fingerprints;  // of all files of the name
};
using ReadFiles = std::map<std::string, Read>;  // by names of folder and file

void Add(const std::string& path, const std::string& fingerprint,
         ReadFiles& files) {
  const std::filesystem::path written =
      std::filesystem::path(path).lexically_normal();
  Read& read =
      files[(written.parent_path().filename() / written.filename()).string()];
  read.path = path;
  read.fingerprints.push_back(fingerprint);
  std::sort(read.fingerprints.begin(), read.fingerprints.end());
}

ReadFiles Listed(const records::Cell& cell) {
  ReadFiles files;
  for (const records::File& file : cell.files())
    Add(file.path(), file.fingerprint(), files);
  return files;
}

ReadFiles Weights(const records::Cell& cell) {
  ReadFiles files;
  Add(cell.target().directory(), cell.target().fingerprint(), files);
  for (const records::Model& model : cell.models())
    Add(model.directory(), model.fingerprint(), files);
  return files;
}

std::string Text(const ReadFiles& files, const std::string& name) {
  const auto found = files.find(name);
  return found == files.end() ? ""
                              : absl::StrJoin(found->second.fingerprints, ", ");
}

}  // namespace

std::vector<FileDifference> DifferingFiles(const records::Cell& a,
                                           const records::Cell& b) {
  const bool listed = a.files_size() > 0 && b.files_size() > 0;
  const ReadFiles in_a = listed ? Listed(a) : Weights(a);
  const ReadFiles in_b = listed ? Listed(b) : Weights(b);
  ReadFiles all = in_a;
  all.insert(in_b.begin(), in_b.end());
  std::vector<FileDifference> differences;
  for (const auto& [name, read] : all)
    if (Text(in_a, name) != Text(in_b, name))
      differences.push_back({read.path, Text(in_a, name), Text(in_b, name)});
  return differences;
}

std::string FirstDifferingFile(const records::Context& a,
                               const records::Context& b) {
  for (int i = 0; i < a.cells_size(); ++i) {
    const std::vector<FileDifference> differences =
        DifferingFiles(a.cells(i), b.cells(i));
    if (!differences.empty()) return differences.front().path;
  }
  return "";
}

bool SameCosts(const records::Context& a, const records::Context& b) {
  return a.costs().SerializeAsString() == b.costs().SerializeAsString();
}

bool NamesFiles(const records::Context& context) {
  return std::any_of(
      context.cells().begin(), context.cells().end(),
      [](const records::Cell& cell) { return cell.files_size() > 0; });
}

}  // namespace banyan
