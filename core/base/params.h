// Params: a configuration as a neutral tree that remembers where it was
// written.
//
// The loader turns a file into Params; a component reads its own section
// through a ParamsReader into its own options struct:
//
//   ParamsReader in(section, "policy chain");
//   in.Required("gamma", options.gamma);
//   in.Ensure(options.gamma >= 1, "gamma", "must be at least 1");
//   BANYAN_RETURN_IF_ERROR(in.Finish());
//
// Finish() fails on the first wrong value and on any key nobody read, naming
// file, line, column and the nearest known key. Nothing here has heard of YAML.
#ifndef BANYAN_CORE_BASE_PARAMS_H_
#define BANYAN_CORE_BASE_PARAMS_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/messages.h"

namespace banyan {

// Where a value was written. Lines and columns count from 1; 0 is "unknown".
struct Origin {
  std::shared_ptr<const std::string> file;
  int line = 0;
  int column = 0;
};

// "file:line:column: message" as an InvalidArgument error; the bare message if
// the file is unknown.
absl::Status ErrorAt(const Origin& at, absl::string_view message);
// The error with its place in front. Its code stays, and OK stays OK.
absl::Status ErrorAt(const Origin& at, const absl::Status& error);

class Params {
 public:
  enum class Kind { kNull, kScalar, kList, kMap };
  struct Entry;

  Params();  // null, from nowhere
  explicit Params(Origin origin);
  // The defaults, but where Entry is complete.
  Params(const Params& other);
  Params(Params&& other) noexcept;
  Params& operator=(const Params& other);
  Params& operator=(Params&& other) noexcept;
  ~Params();
  static Params Scalar(std::string text, Origin origin = {});
  static Params List(std::vector<Params> items, Origin origin = {});
  // The caller has refused repeated keys.
  static Params Map(std::vector<Entry> entries, Origin origin = {});

  Kind kind() const { return kind_; }
  const Origin& origin() const { return origin_; }
  // The scalar's text; empty for the other kinds.
  const std::string& text() const { return text_; }
  absl::Span<const Params> items() const { return items_; }
  absl::Span<const Entry> entries() const;
  // The value of `key`, or null if this is not a map or has no such key.
  const Params* Find(absl::string_view key) const;

  // Where the value of `key` was written; without such a key, where this was.
  const Origin& PlaceOf(absl::string_view key) const;

  // ErrorAt the value's origin.
  absl::Status Error(absl::string_view message) const;
  // The same: "expected WHAT, found 'what stands there'".
  absl::Status Expected(absl::string_view what) const;

 private:
  Kind kind_ = Kind::kNull;
  Origin origin_;
  std::string text_;
  std::vector<Params> items_;
  std::vector<Entry> entries_;
};

struct Params::Entry {
  std::string key;
  Origin key_origin;
  Params value;
};

// Conversions; each fails with the value's place, what was found and what was
// expected. Numbers must be finite.
absl::Status Convert(const Params& value, int& out);
absl::Status Convert(const Params& value, double& out);
absl::Status Convert(const Params& value, bool& out);
absl::Status Convert(const Params& value, std::string& out);
absl::Status Convert(const Params& value, Params& out);  // any value, as it is
absl::Status Convert(const Params& value, std::map<int, double>& out);

template <typename T>
absl::Status Convert(const Params& value, std::vector<T>& out) {
  if (value.kind() != Params::Kind::kList) return value.Expected("a list");
  out.clear();
  for (const Params& item : value.items()) {
    T converted{};
    absl::Status status = Convert(item, converted);
    if (!status.ok()) return status;
    out.push_back(std::move(converted));
  }
  return absl::OkStatus();
}

// A path that stands at `value`, as the program finds it: a relative one is
// relative to the folder of the file that names it.
std::string Beside(const Params& value, const std::string& path);

// "a, b or c".
std::string EitherOf(absl::Span<const absl::string_view> names);

// Reads one section, a map. Keeps the first error and gives it at the end, so
// that a component reads straight through. An empty (null) section is a map
// without keys. The Params must outlive the reader. A part that users choose
// reads its keys through Keys, which documents them.
class ParamsReader {
 public:
  // `what` names the section in messages: "policy chain".
  ParamsReader(const Params& section, std::string what);

  template <typename T>
  void Required(absl::string_view key, T& out) {
    if (const Params* value = TakeRequired(key)) Note(Convert(*value, out));
  }
  // Leaves `out` alone, and returns false, if the key is absent.
  template <typename T>
  bool Optional(absl::string_view key, T& out) {
    const Params* value = Take(key);
    if (value == nullptr) return false;
    Note(Convert(*value, out));
    return true;
  }
  // One of these names.
  bool OneOf(absl::string_view key, std::string& out,
             absl::Span<const absl::string_view> names);

  // Whether the section has the key.
  bool Has(absl::string_view key) const {
    return section_.Find(key) != nullptr;
  }
  // Marks `key` as known and read; null if it is absent.
  const Params* Take(absl::string_view key);
  // The same, but absence is an error.
  const Params* TakeRequired(absl::string_view key);
  // An error at the value of `key` (or at the section) unless `holds`.
  void Ensure(bool holds, absl::string_view key, absl::string_view message);

  // Keeps an error found elsewhere, unless there was one before.
  void Note(const absl::Status& status);

  bool ok() const { return status_.ok(); }
  const Params& section() const { return section_; }
  const std::string& what() const { return what_; }
  // The keys that were asked for, each once, in order.
  const std::vector<std::string>& known() const { return known_; }
  // The first error, or the first key nobody read, or OK.
  absl::Status Finish() const;

 private:
  const Params& section_;
  std::string what_;
  std::vector<std::string> known_;
  absl::Status status_;
};

// Keys: the keys of a section as data, each bound to a member of the options
// that the section is read into. A part lists its keys in its row, and
// catalogues show them (`banyan list NAME`) without building anything.
//
//   struct Options {
//     int nodes = 4;
//   };
//   BuiltPolicy Build(ParamsReader& in, const Options& options);
//
//   Keys<Options> keys;
//   keys.AtLeast("nodes", &Options::nodes, 1, "The tokens of a chain.");
//   return {.name = "chain",
//           .keys = keys.Rows(),
//           .build = keys.ReadFor(Build)};

// A key that a part reads, for people.
struct KeyRow {
  std::string name;
  std::string type;           // "int, 2 to 256"
  std::string fallback = {};  // the default; empty: there is none
  bool required = false;
  std::string sentence;
};

// What KeyRow says of a value of this kind: its type, and a default's text.
inline std::string KeyType(const int& /*value*/) { return "int"; }
inline std::string KeyType(const double& /*value*/) { return "number"; }
inline std::string KeyType(const bool& /*value*/) { return "true or false"; }
inline std::string KeyType(const std::string& /*value*/) { return "text"; }
template <typename T>
std::string KeyType(const std::vector<T>& /*value*/) {
  return "list of " + KeyType(T{});
}
inline std::string KeyText(const int& value) { return absl::StrCat(value); }
inline std::string KeyText(const double& value) { return absl::StrCat(value); }
inline std::string KeyText(const bool& value) {
  return value ? "true" : "false";
}
inline std::string KeyText(const std::string& value) { return value; }
template <typename T>
std::string KeyText(const std::vector<T>& /*value*/) {
  return {};
}

// A function that adds a key takes its name, the member, and a sentence for the
// documentation. The member is a pointer to a member of Options, or a function
// from Options& to a reference where no pointer reaches: std::identity() where
// Options is a single value. Its default is that of the options with which Keys
// was made. Keys are listed and read in the order in which they are added.
template <typename Options>
class Keys {
 public:
  explicit Keys(Options defaults = Options())
      : defaults_(std::move(defaults)) {}

  template <typename Member>
  void Required(const std::string& name, Member member,
                const std::string& sentence) {
    rows_.push_back({.name = name,
                     .type = KeyType(DefaultOf(member)),
                     .required = true,
                     .sentence = sentence});
    reads_.push_back([name, member](ParamsReader& in, Options& options) {
      in.Required(name, std::invoke(member, options));
    });
  }
  template <typename Member>
  Keys& Optional(const std::string& name, Member member,
                 const std::string& sentence) {
    rows_.push_back({.name = name,
                     .type = KeyType(DefaultOf(member)),
                     .fallback = KeyText(DefaultOf(member)),
                     .sentence = sentence});
    reads_.push_back([name, member](ParamsReader& in, Options& options) {
      in.Optional(name, std::invoke(member, options));
    });
    return *this;
  }

  // An optional key that is refused unless it is so large, or lies between
  // both.
  template <typename Member, typename T>
  Keys& AtLeast(const std::string& name, Member member, T least,
                const std::string& sentence) {
    Optional(name, member, sentence);
    rows_.back().type += ", at least " + KeyText(least);
    reads_.push_back([=](ParamsReader& in, Options& options) {
      in.Ensure(std::invoke(member, options) >= least, name,
                "must be at least " + KeyText(least));
    });
    return *this;
  }
  template <typename Member, typename T>
  Keys& Between(const std::string& name, Member member, T least, T most,
                const std::string& sentence) {
    Optional(name, member, sentence);
    rows_.back().type += ", " + KeyText(least) + " to " + KeyText(most);
    reads_.push_back([=](ParamsReader& in, Options& options) {
      const T value = std::invoke(member, options);
      in.Ensure(value >= least && value <= most, name,
                "must lie between " + KeyText(least) + " and " + KeyText(most));
    });
    return *this;
  }

  // One of these names, which are literals. The member is an enum whose values
  // from 0 on they name, or a bool, which the second name makes true.
  template <typename Member>
  Keys& OneOf(const std::string& name, Member member,
              const std::vector<absl::string_view>& names,
              const std::string& sentence) {
    using Value = decltype(DefaultOf(member));
    const auto fallback = static_cast<std::size_t>(DefaultOf(member));
    rows_.push_back({.name = name,
                     .type = EitherOf(names),
                     .fallback = std::string(names[fallback]),
                     .sentence = sentence});
    reads_.push_back([=](ParamsReader& in, Options& options) {
      Value& value = std::invoke(member, options);
      std::string text(names[static_cast<std::size_t>(value)]);
      in.OneOf(name, text, names);
      const auto found = std::find(names.begin(), names.end(), text);
      if (found != names.end())
        value = static_cast<Value>(found - names.begin());
    });
    return *this;
  }

  // The key that was added last is refused unless `other` is given too, with
  // this value if one is named. `reason` is the message; empty: that the key
  // belongs to the other.
  void OnlyWith(const std::string& other, const std::string& value = {},
                const std::string& reason = {}) {
    reads_.push_back([name = rows_.back().name, other, value, reason](
                         ParamsReader& in, Options& /*options*/) {
      const Params* given = in.section().Find(other);
      const bool with =
          given != nullptr && (value.empty() || given->text() == value);
      in.Ensure(
          with || !in.Has(name), name,
          reason.empty() ? "belongs to " + other + ", and needs it" : reason);
    });
  }

  // A key that the build function reads itself (ParamsReader::Take): it is only
  // listed here.
  void Described(KeyRow row) { rows_.push_back(std::move(row)); }
  void Described(const std::string& name, const std::string& type,
                 const std::string& sentence) {
    Described({.name = name, .type = type, .sentence = sentence});
  }

  const std::vector<KeyRow>& Rows() const { return rows_; }

  // Reads all keys but those that are only listed. Errors stay in the reader.
  void Read(ParamsReader& in, Options& options) const {
    for (const auto& read : reads_) read(in, options);
  }

  // The function that a row builds by: reads the keys over the defaults, and
  // calls `build` with the reader, the options and its other arguments.
  template <typename Build>
  auto ReadFor(Build build) const {
    return [keys = *this, build](ParamsReader& in, auto&... others) {
      Options options = keys.defaults_;
      keys.Read(in, options);
      return build(in, std::move(options), others...);
    };
  }

 private:
  template <typename Member>
  auto DefaultOf(Member member) const {
    Options defaults = defaults_;
    return std::invoke(member, defaults);
  }

  Options defaults_;
  std::vector<KeyRow> rows_;
  std::vector<std::function<void(ParamsReader& in, Options& options)>> reads_;
};

// The name of parts that are classes of Python: {python: "module:Class"} is
// short for {name: python, class: "module:Class"}.
inline constexpr absl::string_view kPythonPart = "python";

// What a part's section is called: its name or, of one in Python, its class.
std::string PartName(const Params& section);

// The files of the classes that sections in `value` name, each once, as
// `file_of` finds them by class ("" where there is none). Who runs parts in
// Python sets it; before that there are none.
void SetPythonFiles(std::string (*file_of)(const std::string& name));
std::vector<std::string> PythonFiles(const Params& value);

// Looking up a row of a catalogue by the name a configuration gives.
//
// A catalogue is one table in one file: a span of rows, each with a `name` and
// a `sentence`, in the order in which they are listed.

// The row whose name stands under `name:` in `section`. `kind` names the
// catalogue in messages: "policy".
template <typename Row>
absl::StatusOr<const Row*> FindRow(absl::Span<const Row> rows,
                                   absl::string_view kind,
                                   const Params& section) {
  const Params* name = section.Find("name");
  if (name == nullptr)
    return section.Error(std::string(kind) + ": missing key 'name'");
  std::string text;
  absl::Status status = Convert(*name, text);
  if (!status.ok()) return status;
  std::vector<absl::string_view> known;
  for (const Row& row : rows) {
    if (row.name == text) return &row;
    known.push_back(row.name);
  }
  if (text == kPythonPart)
    return name->Error(absl::StrCat(
        kind,
        ": a class of Python; `python -m banyan` runs it (python/README.md)"));
  return name->Error(UnknownName(kind, text, known));
}

// Appends `added`, which are parts from outside the project. Requires names
// that no row has. Rows move, so nothing may hold one yet.
template <typename Row>
void AppendRows(absl::Span<const Row> added, std::vector<Row>& rows) {
  for (const Row& row : added) {
    for (const Row& other : rows)
      Check(other.name != row.name,
            std::string(row.name) + ": a part of this name is there already");
    rows.push_back(row);
  }
}

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_PARAMS_H_
