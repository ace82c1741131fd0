#include "tree/paths_json.h"

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/input_files.h"
#include "core/base/messages.h"
#include "tree/paths_reader.h"

namespace banyan {
namespace {

using NodePath = std::vector<int>;

constexpr std::size_t kMaxBytes = std::size_t{16} << 20;

}  // namespace

absl::StatusOr<std::vector<NodePath>> ParsePathsJson(
    absl::string_view text, const std::string& file_name,
    const std::string& tree_name) {
  PathsReader reader(text, file_name);
  BANYAN_RETURN_IF_ERROR(reader.Read());
  std::map<std::string, PathsReader::Tree>& trees = reader.trees();
  std::vector<absl::string_view> known;
  known.reserve(trees.size());
  for (const auto& [name, tree] : trees) known.push_back(name);
  const auto refuse = [&reader](absl::string_view message) {
    return reader.ErrorIn(0, message);
  };
  if (trees.empty()) return refuse("the file has no trees");
  if (tree_name.empty()) {
    if (trees.size() == 1) return std::move(trees.begin()->second.paths);
    return refuse(
        absl::StrCat("the file has ", trees.size(),
                     " trees; name one of: ", absl::StrJoin(known, ", ")));
  }
  if (reader.is_bare())
    return refuse(absl::StrCat("tree '", tree_name,
                               "' is asked for, but the file is one tree "
                               "without a name"));
  const auto found = trees.find(tree_name);
  if (found == trees.end())
    return refuse(UnknownName("tree", tree_name, known));
  return std::move(found->second.paths);
}

absl::StatusOr<std::vector<NodePath>> ReadPathsFile(
    const std::string& path, const std::string& tree_name) {
  BANYAN_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxBytes));
  return ParsePathsJson(text, path, tree_name);
}

std::string PathsToJson(absl::Span<const NodePath> paths) {
  const auto append = [](std::string* out, const NodePath& path) {
    absl::StrAppend(out, "[", absl::StrJoin(path, ", "), "]");
  };
  return absl::StrCat("[", absl::StrJoin(paths, ", ", append), "]");
}

}  // namespace banyan
