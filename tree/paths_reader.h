// What ParsePathsJson reads with; its contract is paths_json.h.
#ifndef BANYAN_TREE_PATHS_READER_H_
#define BANYAN_TREE_PATHS_READER_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/json/json_reader.h"

namespace banyan {

// Reads the text without a tree of it, so that a path can be named with its
// place. It nests no deeper than three levels.
class PathsReader : public JsonEvents {
 public:
  using Path = std::vector<int>;

  // One list of paths. `offset` is where in the text its name, or the list
  // itself, begins.
  struct Tree {
    std::size_t offset = 0;
    std::vector<Path> paths;
  };

  // The text must outlive the reader.
  PathsReader(absl::string_view text, const std::string& file_name)
      : text_(text), reader_(text, file_name) {}

  // Reads the whole text. Once.
  absl::Status Read() { return reader_.Read(*this); }
  // The trees by name; a bare list has the name "".
  std::map<std::string, Tree>& trees() { return trees_; }
  bool is_bare() const { return is_bare_; }
  // The message with the place of the byte at `offset` of the text.
  absl::Status ErrorIn(std::size_t offset, absl::string_view message) const;

  absl::Status OnScalar(JsonScalar value) override;
  absl::Status OnKey(std::string name) override;
  absl::Status OnList() override;
  absl::Status OnListEnd() override;
  absl::Status OnObject() override;
  absl::Status OnObjectEnd() override { return absl::OkStatus(); }

 private:
  // What the next value is a part of.
  enum class Inside { kFile, kObject, kTree, kPath };

  absl::Status Unexpected(absl::string_view found) const;
  absl::Status BadPath(absl::string_view what) const;
  absl::Status EndPath();
  absl::Status EndTree();

  absl::string_view text_;
  JsonReader reader_;
  Inside inside_ = Inside::kFile;
  bool is_bare_ = true;
  std::map<std::string, Tree> trees_;
  Tree* tree_ = nullptr;  // the one being read, in trees_
  Path path_;
  std::size_t path_offset_ = 0;
  std::map<Path, std::size_t> numbers_;  // of the paths of *tree_ so far
};

}  // namespace banyan

#endif  // BANYAN_TREE_PATHS_READER_H_
