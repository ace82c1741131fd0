#include "tests/fuzz/targets.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "configs/loader/loader.h"
#include "core/base/check.h"
#include "core/base/params.h"
#include "tree/paths_json.h"

namespace banyan {
namespace {

constexpr char kFile[] = "corpus";

// A fault may be at the text's end: below the last line, if that has no end.
int LineCount(absl::string_view text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n')) + 2;
}

void CheckOrigin(const Origin& at, absl::string_view text) {
  Check(at.file != nullptr && *at.file == kFile, "the origin names the file");
  Check(at.line >= 1 && at.line <= LineCount(text), "the line is in the file");
  Check(at.column >= 1 && at.column <= static_cast<int>(text.size()) + 2,
        "the column is in the file");
}

// "corpus:line:column: message", at a place in the text.
void CheckMessage(const absl::Status& status, absl::string_view text) {
  Check(absl::IsInvalidArgument(status), "the error is InvalidArgument");
  const std::vector<absl::string_view> parts =
      absl::StrSplit(status.message(), absl::MaxSplits(':', 3));
  Check(parts.size() == 4 && parts[0] == kFile && parts[3].size() > 1,
        "the message has a place and a text");
  Origin at{std::make_shared<const std::string>(kFile)};
  Check(absl::SimpleAtoi(parts[1], &at.line) &&
            absl::SimpleAtoi(parts[2], &at.column),
        "the place is a line and a column");
  CheckOrigin(at, text);
}

// Goes through `value`, which has at most `levels` levels of lists and maps.
void CheckParams(const Params& value, int levels, absl::string_view text) {
  CheckOrigin(value.origin(), text);
  const bool is_map = value.kind() == Params::Kind::kMap;
  const bool is_list = value.kind() == Params::Kind::kList;
  Check(levels > 0 || !(is_map || is_list), "the depth is bounded");
  for (const Params& item : value.items()) CheckParams(item, levels - 1, text);
  for (const Params::Entry& entry : value.entries()) {
    CheckOrigin(entry.key_origin, text);
    Check(value.Find(entry.key) == &entry.value, "every key is there once");
    CheckParams(entry.value, levels - 1, text);
  }
}

}  // namespace

absl::Status FuzzYaml(absl::string_view text) {
  const absl::StatusOr<Params> params = ParseYaml(text, kFile);
  if (params.ok()) {
    CheckParams(*params, 64, text);
  } else {
    CheckMessage(params.status(), text);
  }
  return params.status();
}

absl::Status FuzzPathsJson(absl::string_view text) {
  const auto paths = ParsePathsJson(text, kFile, "");
  const auto named = ParsePathsJson(text, kFile, "a");
  if (!named.ok()) CheckMessage(named.status(), text);
  if (!paths.ok()) {
    CheckMessage(paths.status(), text);
    return paths.status();
  }
  const auto again = ParsePathsJson(PathsToJson(*paths), kFile, "");
  Check(again.ok() && *again == *paths, "paths survive writing and reading");
  return absl::OkStatus();
}

}  // namespace banyan
