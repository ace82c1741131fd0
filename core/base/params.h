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

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

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
// reads its keys through Keys (keys.h), which documents them.
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

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_PARAMS_H_
