#include "tree/paths_reader.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/params.h"

namespace banyan {
namespace {

// A thousand times the largest published tree; node numbers stay small.
constexpr std::size_t kMaxNodes = std::size_t{1} << 20;
constexpr std::size_t kMaxRank = std::size_t{1} << 20;

}  // namespace

PathsReader::PathsReader(absl::string_view text, const std::string& file_name)
    : text_(text),
      file_(std::make_shared<const std::string>(file_name)),
      in_(std::string(text)) {}

absl::Status PathsReader::Read() {
  try {
    nlohmann::json::sax_parse(in_, this);
  } catch (const std::exception& fault) {
    Fail(token_, absl::StrCat("cannot be read as JSON: ", fault.what()));
  }
  return status_;
}

Origin PathsReader::At(std::size_t offset) const {
  const absl::string_view before = text_.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {file_, static_cast<int>(line),
          static_cast<int>(before.size() - line_start) + 1};
}

void PathsReader::Step() {
  token_ =
      std::min(text_.find_first_not_of(" \t\r\n,:", token_end_), text_.size());
  token_end_ = static_cast<std::size_t>(
      in_.rdbuf()->pubseekoff(0, std::ios::cur, std::ios::in));
}

bool PathsReader::Fail(std::size_t offset, absl::string_view what) {
  status_.Update(ErrorAt(At(offset), what));
  return false;
}

bool PathsReader::Unexpected(absl::string_view found) {
  if (inside_ == Inside::kPath)
    return BadPath(absl::StrCat("expected ranks only, found ", found));
  Step();
  const absl::string_view expected =
      inside_ == Inside::kFile
          ? "a list of paths, or an object of named lists of paths"
      : inside_ == Inside::kObject ? "a list of paths"
                                   : "a path, a list of ranks";
  return Fail(token_, absl::StrCat("expected ", expected, ", found ", found));
}

bool PathsReader::BadPath(absl::string_view what) {
  constexpr std::size_t kShown = 60;
  absl::string_view shown = text_.substr(path_offset_);
  shown = shown.substr(0, shown.find_first_of("]\n"));
  return Fail(
      path_offset_,
      absl::StrCat("path ", tree_->paths.size(), ", ", shown.substr(0, kShown),
                   shown.size() > kShown ? "..." : "]", ": ", what));
}

bool PathsReader::BadRank() {
  if (inside_ != Inside::kPath) return Unexpected("a number");
  return BadPath(absl::StrCat("expected ranks that are whole numbers in [0, ",
                              kMaxRank, ")"));
}

bool PathsReader::number_float(double, const std::string&) { return BadRank(); }

bool PathsReader::number_unsigned(Unsigned rank) {
  if (inside_ != Inside::kPath || rank >= kMaxRank) return BadRank();
  Step();
  path_.push_back(static_cast<int>(rank));
  return true;
}

bool PathsReader::start_array(std::size_t) {
  if (inside_ == Inside::kPath) return Unexpected("a list");
  Step();
  if (inside_ == Inside::kTree) {
    inside_ = Inside::kPath;
    path_.clear();
    path_offset_ = token_;
    return true;
  }
  if (inside_ == Inside::kFile) {
    tree_ = &trees_[""];
    tree_->offset = token_;
  }
  inside_ = Inside::kTree;
  numbers_.clear();
  return true;
}

bool PathsReader::end_array() {
  Step();
  return inside_ == Inside::kPath ? EndPath() : EndTree();
}

bool PathsReader::EndPath() {
  if (path_.empty()) return BadPath("an empty path is the root; leave it out");
  const std::size_t number = tree_->paths.size();
  const auto [first, is_new] = numbers_.emplace(path_, number);
  if (!is_new) return BadPath(absl::StrCat("repeats path ", first->second));
  tree_->paths.push_back(path_);
  inside_ = Inside::kTree;
  return true;
}

// In lexicographic order a path adds the nodes it does not share with the path
// before it.
bool PathsReader::EndTree() {
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
    return Fail(tree_->offset,
                absl::StrCat("the tree has ", nodes,
                             " nodes; expected fewer than ", kMaxNodes));
  inside_ = is_bare_ ? Inside::kFile : Inside::kObject;
  return true;
}

bool PathsReader::start_object(std::size_t) {
  if (inside_ != Inside::kFile) return Unexpected("an object");
  Step();
  is_bare_ = false;
  inside_ = Inside::kObject;
  return true;
}

bool PathsReader::key(std::string& name) {
  Step();
  const auto [tree, is_new] = trees_.emplace(name, Tree{token_, {}});
  if (!is_new) {
    const Origin first = At(tree->second.offset);
    return Fail(token_, absl::StrCat(
                            "tree '", name, "' is given twice; first given at ",
                            *file_, ":", first.line, ":", first.column));
  }
  tree_ = &tree->second;
  return true;
}

bool PathsReader::end_object() { return true; }

bool PathsReader::parse_error(std::size_t position, const std::string&,
                              const nlohmann::detail::exception& fault) {
  // "[json.exception.NAME] parse error at PLACE: REASON": the place is ours.
  absl::string_view reason = fault.what();
  const std::size_t place = reason.find(": ");
  if (place != absl::string_view::npos) reason.remove_prefix(place + 2);
  return Fail(position == 0 ? 0 : position - 1,
              absl::StrCat("not valid JSON: ", reason));
}

}  // namespace banyan
