#include "experiments/tools/documents.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/read_file.h"
#include "core/base/status_macros.h"
#include "core/json/json_at.h"

namespace banyan {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 32;

absl::Status At(absl::string_view place, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(place, ": ", status.message()));
}

absl::Status ForEachLine(const std::string& path, absl::string_view file,
                         DocumentVisitor visit) {
  int number = 0;
  std::size_t end = 0;
  for (std::size_t begin = 0; begin < file.size(); begin = end) {
    ++number;
    const std::size_t line_end = std::min(file.find('\n', begin), file.size());
    end = std::min(line_end + 1, file.size());
    BANYAN_ASSIGN_OR_RETURN(
        const JsonTree line,
        JsonTree::ParseLine(file.substr(begin, line_end - begin), path,
                            number));
    if (!line.root().is_object())
      return line.root().Expected("an object with a text under 'text'");
    std::vector<JsonAt> texts = {line.root().At("text")};
    if (const JsonAt turns = line.root().At("turns"); turns.exists()) {
      BANYAN_ASSIGN_OR_RETURN(texts, turns.Items());
    }
    for (const JsonAt& one : texts) {
      BANYAN_ASSIGN_OR_RETURN(const std::string text, one.String());
      BANYAN_RETURN_IF_ERROR(At(absl::StrCat(path, ":", number),
                                visit(text, static_cast<std::int64_t>(end))));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ForEachDocument(const std::string& path, DocumentVisitor visit) {
  BANYAN_ASSIGN_OR_RETURN(const std::string file, ReadFile(path, kMostBytes));
  if (absl::EndsWith(path, ".jsonl")) return ForEachLine(path, file, visit);
  return At(path, visit(file, static_cast<std::int64_t>(file.size())));
}

}  // namespace banyan
