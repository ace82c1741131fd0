// Reading a model's JSON files, key by key.
//
//   BANYAN_ASSIGN_OR_RETURN(ConfigReader in, ConfigReader::Parse(text, name));
//   const int layers = in.Size("num_hidden_layers", 1024);
//   const bool tied = in.Flag("tie_word_embeddings", false);
//   BANYAN_RETURN_IF_ERROR(in.status());
//
// Keys nobody asks for are passed over: a model's files hold many. Null is the
// same as an absent key, but for IsGiven().
#ifndef BANYAN_CORE_CHECKPOINT_CONFIG_READER_H_
#define BANYAN_CORE_CHECKPOINT_CONFIG_READER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/errors.h"
#include "core/base/token.h"
#include "core/json/json_at.h"

namespace banyan {

// Keeps the first error, "FILE: key: expected a positive integer, found "x"",
// and gives it at the end, so that a family reads straight through. After an
// error every further read gives its fallback. What does not depend on each
// other is read apart, and then all that is wrong is told.
class ConfigReader {
 public:
  // The sizes of a model are at most this: no published one comes near, and the
  // product of any two of them fits 64 bits with room to spare.
  static constexpr int kMaxSize = 1 << 24;

  // An object, read as core/json/json_reader.h says.
  static absl::StatusOr<ConfigReader> Parse(absl::string_view text,
                                            const std::string& file_name);

  // True if the key is there, be it null.
  bool IsGiven(absl::string_view key) const;
  // True if the key is there and not null.
  bool Has(absl::string_view key) const;

  // A whole number from 1 to `max`; the first form requires the key.
  int Size(absl::string_view key, int max = kMaxSize);
  int SizeOr(absl::string_view key, int fallback, int max = kMaxSize);
  // A whole number from 0 to `max`.
  int CountOr(absl::string_view key, int fallback, int max = kMaxSize);
  // A finite number above 0.
  double Positive(absl::string_view key);
  double PositiveOr(absl::string_view key, double fallback);
  bool Flag(absl::string_view key, bool fallback);
  // Required and not empty.
  std::string Text(absl::string_view key);
  std::string TextOr(absl::string_view key, absl::string_view fallback);
  // A list of texts; empty if there is none.
  std::vector<std::string> Texts(absl::string_view key);
  // An object of texts; empty if there is none.
  std::map<std::string, std::string> TextMap(absl::string_view key);
  // A token id or a list of them, each below `vocab_size`; empty if none.
  std::vector<TokenId> Tokens(absl::string_view key, int vocab_size);

  // A list of ascending numbers from 0 to `end` - 1; empty if there is none,
  // and as many zeros if one is none of them.
  std::vector<int> Indices(absl::string_view key, int end);

  // The object under `key`, or one without keys. Its errors are told here too,
  // as "FILE: key.inner: ...".
  ConfigReader Section(absl::string_view key);
  // A reader of the same object that keeps a first error of its own, which is
  // told here too and ends no reading here.
  ConfigReader Apart() const;
  // The keys that stand for true or false.
  std::vector<std::string> Flags() const;
  // True if the value of some key is itself an object.
  bool HasObjects() const;

  // Notes "FILE: key: message".
  void Fail(absl::string_view key, absl::string_view message);
  // The same: "expected WHAT, found what stands there".
  void Unexpected(absl::string_view key, absl::string_view what);

  const std::string& file_name() const;
  // Of several errors each has a line.
  absl::Status status() const { return told_->errors.status(); }

 private:
  struct File {
    JsonTree tree;
    std::string name;
  };
  struct Told {
    std::shared_ptr<Told> above;  // of whom this was read apart
    bool failed = false;
    Errors errors;  // its own, and of what was read apart from it
  };

  ConfigReader(const JsonAt& object, std::shared_ptr<const File> file,
               std::shared_ptr<Told> told)
      : object_(object), file_(std::move(file)), told_(std::move(told)) {}
  // The value under `key`; none if it is absent, null, or after an error.
  std::optional<JsonAt> Find(absl::string_view key) const;
  std::optional<int> Whole(absl::string_view key, int min, int max);
  void Missing(absl::string_view key, absl::string_view what);
  void Note(const absl::Status& status);

  JsonAt object_;  // in the file's tree
  std::shared_ptr<const File> file_;
  std::shared_ptr<Told> told_;  // which sections share
};

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_CONFIG_READER_H_
