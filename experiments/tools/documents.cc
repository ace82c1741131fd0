#include "experiments/tools/documents.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/read_file.h"
#include "core/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace banyan {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 32;

absl::Status At(absl::string_view place, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(place, ": ", status.message()));
}

// The text of one line of a .jsonl file.
absl::StatusOr<std::string> TextOf(absl::string_view line) {
  const auto json = nlohmann::json::parse(line.begin(), line.end(), nullptr,
                                          /*allow_exceptions=*/false);
  if (json.is_discarded())
    return absl::InvalidArgumentError(
        "expected a JSON object with a text under 'text', found no JSON");
  const auto text = json.is_object() ? json.find("text") : json.end();
  if (text == json.end())
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a JSON object with a text under 'text', found ",
        json.is_object() ? "an object without it" : json.type_name()));
  if (!text->is_string())
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a text under 'text', found ", text->type_name()));
  return text->get<std::string>();
}

absl::Status ForEachLine(const std::string& path, absl::string_view file,
                         DocumentVisitor visit) {
  std::int64_t number = 0;
  std::size_t end = 0;
  for (std::size_t begin = 0; begin < file.size(); begin = end) {
    const std::string place = absl::StrCat(path, ":", ++number);
    const std::size_t line_end = file.find('\n', begin);
    end = line_end == absl::string_view::npos ? file.size() : line_end + 1;
    const absl::StatusOr<std::string> text =
        TextOf(file.substr(begin, end - begin));
    BANYAN_RETURN_IF_ERROR(At(place, text.status()));
    BANYAN_RETURN_IF_ERROR(
        At(place, visit(*text, static_cast<std::int64_t>(end))));
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
