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
#ifndef BANYAN_CORE_BASE_KEYS_H_
#define BANYAN_CORE_BASE_KEYS_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/params.h"

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_KEYS_H_
