#include "tree/paths_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include "core/base/common.h"
#include "core/base/params.h"
#include "core/json/json_reader.h"

namespace banyan {
namespace {

// A thousand times the largest published tree; node numbers stay small.
constexpr std::size_t kMaxNodes = std::size_t{1} << 20;
constexpr std::size_t kMaxRank = std::size_t{1} << 20;

}  // namespace

absl::Status PathsReader::ErrorIn(std::size_t offset,
                                  absl::string_view message) const {
  return ErrorAt(reader_.At(offset), message);
}

absl::Status PathsReader::Unexpected(absl::string_view found) const {
  if (inside_ == Inside::kPath)
    return BadPath(absl::StrCat("expected ranks only, found ", found));
  const absl::string_view expected =
      inside_ == Inside::kFile
          ? "a list of paths, or an object of named lists of paths"
      : inside_ == Inside::kObject ? "a list of paths"
                                   : "a path, a list of ranks";
  return ErrorIn(reader_.token_begin(),
                 absl::StrCat("expected ", expected, ", found ", found));
}

absl::Status PathsReader::BadPath(absl::string_view what) const {
  constexpr std::size_t kShown = 60;
  absl::string_view shown = text_.substr(path_offset_);
  shown = shown.substr(0, shown.find_first_of("]\n"));
  return ErrorIn(
      path_offset_,
      absl::StrCat("path ", tree_->paths.size(), ", ", shown.substr(0, kShown),
                   shown.size() > kShown ? "..." : "]", ": ", what));
}

absl::Status PathsReader::OnScalar(JsonScalar value) {
  const absl::string_view kind = KindOf(value);
  if (inside_ != Inside::kPath || kind != "a number") return Unexpected(kind);
  const auto* rank = std::get_if<std::uint64_t>(&value);
  if (rank == nullptr || *rank >= kMaxRank)
    return BadPath(absl::StrCat("expected ranks that are whole numbers in [0, ",
                                kMaxRank, ")"));
  path_.push_back(static_cast<int>(*rank));
  return absl::OkStatus();
}

absl::Status PathsReader::OnKey(std::string name) {
  tree_ = &trees_[std::move(name)];
  tree_->offset = reader_.token_begin();
  return absl::OkStatus();
}

absl::Status PathsReader::OnObject() {
  if (inside_ != Inside::kFile) return Unexpected("an object");
  is_bare_ = false;
  inside_ = Inside::kObject;
  return absl::OkStatus();
}

absl::Status PathsReader::OnList() {
  if (inside_ == Inside::kPath) return Unexpected("a list");
  if (inside_ == Inside::kTree) {
    inside_ = Inside::kPath;
    path_.clear();
    path_offset_ = reader_.token_begin();
    return absl::OkStatus();
  }
  if (inside_ == Inside::kFile) {
    tree_ = &trees_[""];
    tree_->offset = reader_.token_begin();
  }
  inside_ = Inside::kTree;
  numbers_.clear();
  return absl::OkStatus();
}

absl::Status PathsReader::OnListEnd() {
  return inside_ == Inside::kPath ? EndPath() : EndTree();
}

absl::Status PathsReader::EndPath() {
  if (path_.empty()) return BadPath("an empty path is the root; leave it out");
  const std::size_t number = tree_->paths.size();
  const auto [first, is_new] = numbers_.emplace(path_, number);
  if (!is_new) return BadPath(absl::StrCat("repeats path ", first->second));
  tree_->paths.push_back(path_);
  inside_ = Inside::kTree;
  return absl::OkStatus();
}

// In lexicographic order a path adds the nodes it does not share with the path
// before it.
absl::Status PathsReader::EndTree() {
  std::size_t nodes = 0;
  const Path root;
  const Path* last = &root;
  for (const auto& [path, number] : numbers_) {
    const auto parting =
        std::mismatch(path.begin(), path.end(), last->begin(), last->end());
    nodes += static_cast<std::size_t>(path.end() - parting.first);
    last = &path;
  }
  if (nodes >= kMaxNodes)
    return ErrorIn(tree_->offset,
                   absl::StrCat("the tree has ", nodes,
                                " nodes; expected fewer than ", kMaxNodes));
  inside_ = is_bare_ ? Inside::kFile : Inside::kObject;
  return absl::OkStatus();
}

}  // namespace banyan
