// JSON values: those to be written, and those of a text, which know where they
// were written.
#ifndef BANYAN_CORE_JSON_JSON_VALUE_H_
#define BANYAN_CORE_JSON_JSON_VALUE_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/json/json_reader.h"

namespace banyan {

// A JSON value to be written. Keys stay in their order.
//
//   JsonValue out = {{"name", name}, {"sizes", sizes}};
//   out["rows"].Add({{"tokens", 4}, {"ms", 1.5}});
//   std::cout << out.Text(2) << "\n";
class JsonValue {
 public:
  JsonValue() = default;  // null
  JsonValue(std::nullptr_t) {}
  explicit JsonValue(JsonScalar scalar) : scalar_(std::move(scalar)) {}
  JsonValue(bool value) : scalar_(value) {}
  template <std::signed_integral T>
  JsonValue(T value) : scalar_(static_cast<std::int64_t>(value)) {}
  template <std::unsigned_integral T>
  JsonValue(T value) : scalar_(static_cast<std::uint64_t>(value)) {}
  template <std::floating_point T>
  JsonValue(T value) : scalar_(static_cast<double>(value)) {}
  JsonValue(const char* text) : scalar_(std::string(text)) {}
  JsonValue(std::string text) : scalar_(std::move(text)) {}
  JsonValue(absl::string_view text) : scalar_(std::string(text)) {}
  // Null without a value.
  template <typename T>
  JsonValue(const std::optional<T>& value)
      : JsonValue(value ? JsonValue(*value) : JsonValue()) {}
  template <typename T>
  JsonValue(const std::vector<T>& items) : kind_(Kind::kList) {
    for (const auto& item : items) items_.emplace_back(item);
  }
  // An object; no key comes twice.
  JsonValue(
      std::initializer_list<std::pair<absl::string_view, JsonValue>> entries);

  static JsonValue List();
  static JsonValue Object();

  bool is_null() const {
    return kind_ == Kind::kScalar &&
           std::holds_alternative<std::nullptr_t>(scalar_);
  }
  // The value of a key, null where it is new. Requires an object, or null,
  // which becomes one.
  JsonValue& operator[](absl::string_view key);
  // Gives the item where it stands. Requires a list, or null, which becomes
  // one.
  JsonValue& Add(JsonValue item);

  // Without `indent` all on one line. Bytes that are not UTF-8 become U+FFFD,
  // and numbers that are not finite null.
  std::string Text(int indent = -1) const;

 private:
  enum class Kind { kScalar, kList, kObject };

  void Append(int indent, int depth, std::string& out) const;

  Kind kind_ = Kind::kScalar;
  JsonScalar scalar_;
  std::vector<std::string> keys_;  // of an object, with an item each
  std::vector<JsonValue> items_;
};

// Null for "".
JsonValue NullIfEmpty(absl::string_view text);

// A JSON text as a tree whose values know where they stand, so that whatever is
// wrong with one can be said with the file and the path:
//
//   tokenizer.json: pre_tokenizer.pretokenizers[0].type: expected ...
//
//   BANYAN_ASSIGN_OR_RETURN(const JsonTree tree, JsonTree::Parse(text, file));
//   BANYAN_ASSIGN_OR_RETURN(const bool tied, tree.root().At("tied").Bool());
class JsonAt;
class JsonValue;

// Does not change once made: any number of threads may use one.
class JsonTree {
 public:
  // Reads a whole text, as core/json/json_reader.h says.
  static absl::StatusOr<JsonTree> Parse(absl::string_view text,
                                        const std::string& file);
  // The same for a text that is one line of a file, counted from 1; messages
  // name it "file:line".
  static absl::StatusOr<JsonTree> ParseLine(absl::string_view text,
                                            const std::string& file, int line);
  JsonTree(JsonTree&& other) noexcept;
  JsonTree& operator=(JsonTree&& other) noexcept;
  ~JsonTree();

  // Lives as long as the tree.
  JsonAt root() const;

 private:
  friend class JsonAt;
  class JsonValue;
  class Builder;
  struct Document;
  struct Node;
  explicit JsonTree(std::unique_ptr<const Document> document);

  std::unique_ptr<const Document> document_;
};

// Cheap to copy and to make. The tree must outlive it.
class JsonAt {
 public:
  // False for a key that is not there.
  bool exists() const { return value_ != nullptr; }
  // A missing key and a null are the same to most that is read.
  bool is_null() const;
  bool is_object() const;
  bool is_list() const;
  bool is_string() const;
  // The number of keys or items; 0 for all that has none.
  std::size_t size() const;

  // The value of a key: none if this is no object or has no such key.
  JsonAt At(absl::string_view key) const;
  // The item of a list. Requires a list and an index in it.
  JsonAt At(std::size_t index) const;
  // The items of a list; fails if this is none.
  absl::StatusOr<std::vector<JsonAt>> Items() const;
  // Visits the keys of an object in the file's order; fails if this is none,
  // and with the first error of `visit`.
  absl::Status ForEachKey(absl::FunctionRef<absl::Status(const std::string& key,
                                                         const JsonAt& value)>
                              visit) const;

  // The value; each fails if it is missing or of another kind.
  absl::StatusOr<std::string> String() const;
  absl::StatusOr<std::int64_t> Int() const;
  absl::StatusOr<double> Number() const;  // finite
  absl::StatusOr<bool> Bool() const;
  // The same, but `absent` where the value is null.
  absl::StatusOr<std::string> StringOr(absl::string_view absent) const;
  absl::StatusOr<bool> BoolOr(bool absent) const;
  // The text, which lives as long as the tree; null if this is none.
  const std::string* FindString() const;

  // All that stands there, to be changed and written again; null if it is
  // missing.
  JsonValue Value() const;

  // A text of exactly one character.
  absl::StatusOr<std::string> Character() const;

  // Fails unless this is an object all of whose keys are `known`.
  absl::Status HasOnly(absl::Span<const absl::string_view> known) const;

  // What stands there, for messages: "a list", or a value, cut if it is long.
  std::string Found() const;
  // InvalidArgument "file: path: message".
  absl::Status Error(absl::string_view message) const;
  // The same: "expected WHAT, found what stands there".
  absl::Status Expected(absl::string_view what) const;

 private:
  friend class JsonTree;
  JsonAt(const JsonTree::Document* document, const JsonTree::Node* value)
      : document_(document), value_(value), nearest_(value) {}
  // "" for the root.
  std::string Path() const;

  const JsonTree::Document* document_;
  const JsonTree::Node* value_;       // null if it is missing
  const JsonTree::Node* nearest_;     // the value, or what it is missing in
  std::vector<std::string> missing_;  // the keys from there
};

}  // namespace banyan

#endif  // BANYAN_CORE_JSON_JSON_VALUE_H_
