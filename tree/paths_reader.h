// What ParsePathsJson reads with; its contract is paths_json.h.
#ifndef BANYAN_TREE_PATHS_READER_H_
#define BANYAN_TREE_PATHS_READER_H_

#include <cstddef>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/params.h"

namespace banyan {

// Receives what nlohmann's parser finds, in the order of the text (its SAX
// interface: every function returns whether to go on). It nests no deeper than
// three levels, and keeps the first error.
class PathsReader {
 public:
  using Path = std::vector<int>;
  using Number = nlohmann::json::number_integer_t;
  using Unsigned = nlohmann::json::number_unsigned_t;

  // One list of paths. `offset` is where in the text its name, or the list
  // itself, begins.
  struct Tree {
    std::size_t offset = 0;
    std::vector<Path> paths;
  };

  PathsReader(absl::string_view text, const std::string& file_name);

  // Reads the whole text. Once.
  absl::Status Read();
  // The trees by name; a bare list has the name "".
  std::map<std::string, Tree>& trees() { return trees_; }
  bool is_bare() const { return is_bare_; }
  // The line and column of the byte at `offset` of the text.
  Origin At(std::size_t offset) const;

  bool null() { return Unexpected("null"); }
  bool boolean(bool) { return Unexpected("true or false"); }
  bool string(std::string&) { return Unexpected("a text"); }
  bool binary(nlohmann::json::binary_t&) { return Unexpected("bytes"); }
  bool number_float(double, const std::string&);
  bool number_integer(Number rank) {
    return rank < 0 ? BadRank() : number_unsigned(Unsigned(rank));
  }
  bool number_unsigned(Unsigned rank);
  bool start_array(std::size_t);
  bool end_array();
  bool start_object(std::size_t);
  bool end_object();
  bool key(std::string& name);
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& fault);

 private:
  // What the next value is a part of.
  enum class Inside { kFile, kObject, kTree, kPath };

  // Moves on to the token just read: it begins after the last one, separators
  // left out.
  void Step();
  bool Fail(std::size_t offset, absl::string_view what);
  bool Unexpected(absl::string_view found);
  bool BadPath(absl::string_view what);
  bool BadRank();
  bool EndPath();
  bool EndTree();

  absl::string_view text_;
  std::shared_ptr<const std::string> file_;
  std::istringstream in_;
  std::size_t token_ = 0;      // where the token being handled begins
  std::size_t token_end_ = 0;  // where the search for the next one begins
  Inside inside_ = Inside::kFile;
  bool is_bare_ = true;
  std::map<std::string, Tree> trees_;
  Tree* tree_ = nullptr;  // the one being read, in trees_
  Path path_;
  std::size_t path_offset_ = 0;
  std::map<Path, std::size_t> numbers_;  // of the paths of *tree_ so far
  absl::Status status_;
};

}  // namespace banyan

#endif  // BANYAN_TREE_PATHS_READER_H_
