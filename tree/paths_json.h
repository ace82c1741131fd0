// Static tree shapes, as they are published: JSON lists of paths.
//
// A path is the ranks of the children on the way from the root to a node, so
// [[0], [0, 0], [1]] is a root with two children, the first of which has one
// child. A file holds one such list, or an object of named ones:
//
//   {"small": [[0], [1]], "large": [[0], [0, 0], [1]]}
//
// Checked: ranks are whole numbers in [0, 2^20), no path is empty or repeated,
// and a tree has fewer than 2^20 nodes. Nodes that a path passes through need
// not be listed; they count as nodes. Every tree of the file is checked, not
// only the one asked for.
//
// All functions may run concurrently; no exception leaves them.
#ifndef BANYAN_TREE_PATHS_JSON_H_
#define BANYAN_TREE_PATHS_JSON_H_

#include <string>
#include <vector>

#include "core/base/common.h"

namespace banyan {

// The paths of one tree, in the order of `text`. `tree_name` says which tree of
// an object is meant; "" means the only one, and must be given for a bare list.
// Errors are InvalidArgument, "file:line:column: message", and name the path at
// fault, counted from 0: "path 3, [0, -1]: ...". `file_name` is for messages.
absl::StatusOr<std::vector<std::vector<int>>> ParsePathsJson(
    absl::string_view text, const std::string& file_name,
    const std::string& tree_name);

// The same for the file at `path`, of at most 16 MiB. A missing file is a
// NotFound error.
absl::StatusOr<std::vector<std::vector<int>>> ReadPathsFile(
    const std::string& path, const std::string& tree_name);

// "[[0], [0, 0], [1]]", which ParsePathsJson reads back.
std::string PathsToJson(absl::Span<const std::vector<int>> paths);

}  // namespace banyan

#endif  // BANYAN_TREE_PATHS_JSON_H_
