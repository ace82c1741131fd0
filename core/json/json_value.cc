#include "core/json/json_value.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "core/base/check.h"
#include "core/base/messages.h"

namespace banyan {

JsonValue::JsonValue(
    std::initializer_list<std::pair<absl::string_view, JsonValue>> entries)
    : kind_(Kind::kObject) {
  for (const auto& [key, value] : entries) {
    keys_.emplace_back(key);
    items_.push_back(value);
  }
}

JsonValue JsonValue::List() {
  JsonValue list;
  list.kind_ = Kind::kList;
  return list;
}

JsonValue JsonValue::Object() {
  JsonValue object;
  object.kind_ = Kind::kObject;
  return object;
}

JsonValue& JsonValue::operator[](absl::string_view key) {
  if (is_null()) kind_ = Kind::kObject;
  Check(kind_ == Kind::kObject, "a key of what is no object");
  const auto place = std::find(keys_.begin(), keys_.end(), key);
  if (place != keys_.end())
    return items_[static_cast<std::size_t>(place - keys_.begin())];
  keys_.emplace_back(key);
  return items_.emplace_back();
}

JsonValue& JsonValue::Add(JsonValue item) {
  if (is_null()) kind_ = Kind::kList;
  Check(kind_ == Kind::kList, "an item of what is no list");
  return items_.emplace_back(std::move(item));
}

std::string JsonValue::Text(int indent) const {
  std::string text;
  Append(indent, 0, text);
  return text;
}

void JsonValue::Append(int indent, int depth, std::string& out) const {
  if (kind_ == Kind::kScalar) {
    absl::StrAppend(&out, Written(scalar_));
    return;
  }
  const bool is_list = kind_ == Kind::kList;
  const auto new_line = [&](int level) {
    if (indent < 0 || items_.empty()) return;
    out += '\n';
    out.append(static_cast<std::size_t>(indent * level), ' ');
  };
  out += is_list ? '[' : '{';
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (i > 0) out += ',';
    new_line(depth + 1);
    if (!is_list)
      absl::StrAppend(&out, Written(keys_[i]), indent < 0 ? ":" : ": ");
    items_[i].Append(indent, depth + 1, out);
  }
  new_line(depth);
  out += is_list ? ']' : '}';
}

JsonValue NullIfEmpty(absl::string_view text) {
  return text.empty() ? JsonValue() : JsonValue(text);
}

struct JsonTree::Node {
  struct Member;
  using List = std::vector<Node>;
  using Object = std::vector<Member>;

  std::variant<JsonScalar, List, Object> value;

  const List* list() const;
  const Object* object() const;
  // The scalar, if it is one and a T.
  template <typename T>
  const T* As() const {
    const auto* scalar = std::get_if<JsonScalar>(&value);
    return scalar != nullptr ? std::get_if<T>(scalar) : nullptr;
  }

  // Appends the path from here to the node at `to`, which lies in this one.
  bool FindPath(const Node* to, std::string& path) const;
};

struct JsonTree::Node::Member {
  std::string key;
  Node node;
};

const JsonTree::Node::List* JsonTree::Node::list() const {
  return std::get_if<List>(&value);
}

const JsonTree::Node::Object* JsonTree::Node::object() const {
  return std::get_if<Object>(&value);
}

bool JsonTree::Node::FindPath(const Node* to, std::string& path) const {
  if (this == to) return true;
  const std::size_t size = path.size();
  const auto is_in = [&](const Node& node, absl::string_view step) {
    absl::StrAppend(&path, step);
    const bool found = node.FindPath(to, path);
    if (!found) path.resize(size);
    return found;
  };
  if (list() != nullptr)
    for (std::size_t i = 0; i < list()->size(); ++i)
      if (is_in((*list())[i], absl::StrCat("[", i, "]"))) return true;
  if (object() != nullptr)
    for (const auto& [key, node] : *object())
      if (is_in(node, absl::StrCat(path.empty() ? "" : ".", key))) return true;
  return false;
}

struct JsonTree::Document {
  std::string file;  // for messages
  Node root;
};

// Makes a tree of what it hears.
class JsonTree::Builder : public JsonEvents {
 public:
  Node& root() { return root_; }

  absl::Status OnScalar(JsonScalar value) override {
    Add().value = std::move(value);
    return absl::OkStatus();
  }
  absl::Status OnKey(std::string key) override {
    OpenObject().push_back({std::move(key), Node()});
    return absl::OkStatus();
  }
  absl::Status OnList() override { return Open(Node::List()); }
  absl::Status OnObject() override { return Open(Node::Object()); }
  absl::Status OnListEnd() override { return Close(); }
  absl::Status OnObjectEnd() override { return Close(); }

 private:
  Node::Object& OpenObject() {
    return std::get<Node::Object>(open_.back()->value);
  }
  // A place for the next value.
  Node& Add() {
    if (open_.empty()) return root_;
    auto* list = std::get_if<Node::List>(&open_.back()->value);
    return list != nullptr ? list->emplace_back() : OpenObject().back().node;
  }
  template <typename T>
  absl::Status Open(T empty) {
    Node& node = Add();
    node.value = std::move(empty);
    open_.push_back(&node);
    return absl::OkStatus();
  }
  absl::Status Close() {
    open_.pop_back();
    return absl::OkStatus();
  }

  Node root_;
  std::vector<Node*> open_;  // the lists and objects that are open, in root_
};

JsonTree::JsonTree(std::unique_ptr<const Document> document)
    : document_(std::move(document)) {}
JsonTree::JsonTree(JsonTree&& other) noexcept = default;
JsonTree& JsonTree::operator=(JsonTree&& other) noexcept = default;
JsonTree::~JsonTree() = default;

absl::StatusOr<JsonTree> JsonTree::Parse(absl::string_view text,
                                         const std::string& file) {
  Builder builder;
  BANYAN_RETURN_IF_ERROR(JsonReader(text, file).Read(builder));
  return JsonTree(std::make_unique<const Document>(
      Document{file, std::move(builder.root())}));
}

absl::StatusOr<JsonTree> JsonTree::ParseLine(absl::string_view text,
                                             const std::string& file,
                                             int line) {
  Builder builder;
  BANYAN_RETURN_IF_ERROR(JsonReader(text, file, line).Read(builder));
  return JsonTree(std::make_unique<const Document>(
      Document{absl::StrCat(file, ":", line), std::move(builder.root())}));
}

JsonAt JsonTree::root() const {
  return JsonAt(document_.get(), &document_->root);
}

bool JsonAt::is_null() const {
  return !exists() || value_->As<std::nullptr_t>() != nullptr;
}
bool JsonAt::is_object() const { return exists() && value_->object(); }
bool JsonAt::is_list() const { return exists() && value_->list(); }
bool JsonAt::is_string() const { return FindString() != nullptr; }

std::size_t JsonAt::size() const {
  if (is_list()) return value_->list()->size();
  return is_object() ? value_->object()->size() : 0;
}

JsonAt JsonAt::At(absl::string_view key) const {
  if (is_object())
    for (const auto& [name, node] : *value_->object())
      if (name == key) return JsonAt(document_, &node);
  JsonAt none = *this;
  none.value_ = nullptr;
  none.missing_.emplace_back(key);
  return none;
}

JsonAt JsonAt::At(std::size_t index) const {
  return JsonAt(document_, &(*value_->list())[index]);
}

absl::StatusOr<std::vector<JsonAt>> JsonAt::Items() const {
  if (!is_list()) return Expected("a list");
  std::vector<JsonAt> items;
  for (std::size_t i = 0; i < size(); ++i) items.push_back(At(i));
  return items;
}

absl::Status JsonAt::ForEachKey(
    absl::FunctionRef<absl::Status(const std::string&, const JsonAt&)> visit)
    const {
  if (!is_object()) return Expected("an object");
  for (const auto& [key, node] : *value_->object())
    BANYAN_RETURN_IF_ERROR(visit(key, JsonAt(document_, &node)));
  return absl::OkStatus();
}

const std::string* JsonAt::FindString() const {
  return exists() ? value_->As<std::string>() : nullptr;
}

absl::StatusOr<std::string> JsonAt::String() const {
  if (!is_string()) return Expected("a text");
  return *FindString();
}

absl::StatusOr<std::int64_t> JsonAt::Int() const {
  if (!exists()) return Expected("a whole number");
  if (const auto* below = value_->As<std::int64_t>()) return *below;
  const auto* whole = value_->As<std::uint64_t>();
  if (whole == nullptr || *whole > std::uint64_t{INT64_MAX})
    return Expected("a whole number");
  return static_cast<std::int64_t>(*whole);
}

absl::StatusOr<double> JsonAt::Number() const {
  if (!exists()) return Expected("a number");
  if (const auto* number = value_->As<double>()) return *number;
  if (const auto* below = value_->As<std::int64_t>())
    return static_cast<double>(*below);
  if (const auto* whole = value_->As<std::uint64_t>())
    return static_cast<double>(*whole);
  return Expected("a number");
}

absl::StatusOr<bool> JsonAt::Bool() const {
  const auto* flag = exists() ? value_->As<bool>() : nullptr;
  if (flag == nullptr) return Expected("true or false");
  return *flag;
}

absl::StatusOr<std::string> JsonAt::StringOr(absl::string_view absent) const {
  if (is_null()) return std::string(absent);
  return String();
}

absl::StatusOr<bool> JsonAt::BoolOr(bool absent) const {
  if (is_null()) return absent;
  return Bool();
}

JsonValue JsonAt::Value() const {
  if (!exists()) return JsonValue();
  if (is_list()) {
    JsonValue list = JsonValue::List();
    for (std::size_t i = 0; i < size(); ++i) list.Add(At(i).Value());
    return list;
  }
  if (!is_object()) return JsonValue(std::get<JsonScalar>(value_->value));
  JsonValue object = JsonValue::Object();
  ForEachKey([&object](const std::string& key, const JsonAt& value) {
    object[key] = value.Value();
    return absl::OkStatus();
  }).IgnoreError();
  return object;
}

absl::StatusOr<std::string> JsonAt::Character() const {
  BANYAN_ASSIGN_OR_RETURN(std::string text, String());
  const auto begins_one = [](char byte) { return (byte & 0xC0) != 0x80; };
  if (std::count_if(text.begin(), text.end(), begins_one) != 1)
    return Expected("one character");
  return text;
}

absl::Status JsonAt::HasOnly(absl::Span<const absl::string_view> known) const {
  return ForEachKey([known](const std::string& key, const JsonAt& value) {
    return std::find(known.begin(), known.end(), key) != known.end()
               ? absl::OkStatus()
               : value.Error(UnknownName("key", key, known));
  });
}

std::string JsonAt::Found() const {
  constexpr std::size_t kShown = 60;
  if (!exists()) return "no such key";
  if (is_list()) return "a list";
  if (is_object()) return "an object";
  return Shortened(Written(std::get<JsonScalar>(value_->value)), kShown);
}

std::string JsonAt::Path() const {
  constexpr std::size_t kShown = 200;
  std::string path;
  document_->root.FindPath(nearest_, path);
  for (const std::string& key : missing_)
    absl::StrAppend(&path, path.empty() ? "" : ".", key);
  return absl::Utf8SafeCHexEscape(Shortened(path, kShown));
}

absl::Status JsonAt::Error(absl::string_view message) const {
  const std::string path = Path();
  return absl::InvalidArgumentError(absl::StrCat(
      document_->file, ": ", path, path.empty() ? "" : ": ", message));
}

absl::Status JsonAt::Expected(absl::string_view what) const {
  return Error(absl::StrCat("expected ", what, ", found ", Found()));
}

}  // namespace banyan
