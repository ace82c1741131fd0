#include "experiments/plan/params_edit.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "experiments/plan/read_costs.h"

namespace banyan {
namespace {

std::vector<Params::Entry> EntriesOf(const Params& map) {
  return {map.entries().begin(), map.entries().end()};
}

auto FindEntry(std::vector<Params::Entry>& entries, absl::string_view key) {
  return std::find_if(entries.begin(), entries.end(),
                      [&](const auto& entry) { return entry.key == key; });
}

absl::StatusOr<Params> WithItem(const Params& list, absl::string_view key,
                                absl::string_view rest, const Params& value) {
  int number = 0;
  const int size = static_cast<int>(list.items().size());
  if (!absl::SimpleAtoi(key, &number) || number < 0 || number >= size)
    return value.Error(absl::StrCat("'", key, "' is no item of a list of ",
                                    size, ", numbered from 0"));
  std::vector<Params> items(list.items().begin(), list.items().end());
  Params& item = items[static_cast<std::size_t>(number)];
  if (rest.empty()) {
    item = value;
  } else {
    BANYAN_ASSIGN_OR_RETURN(item, WithValue(item, rest, value));
  }
  return Params::List(std::move(items), list.origin());
}

// Where the first key of a path ends: at the first dot, unless the map has a
// longer key with dots in it that the path begins with.
std::size_t KeyEnd(const Params& root, absl::string_view path) {
  std::size_t end = path.find('.');
  for (const Params::Entry& entry : root.entries()) {
    const std::size_t size = entry.key.size();
    const bool whole =
        size == path.size() || (size < path.size() && path[size] == '.');
    if (!whole || path.substr(0, size) != entry.key) continue;
    if (size == path.size()) return absl::string_view::npos;
    if (end == absl::string_view::npos || size > end) end = size;
  }
  return end;
}

}  // namespace

Params Overlay(const Params& base, const Params& over) {
  if (base.kind() != Params::Kind::kMap || over.kind() != Params::Kind::kMap)
    return over;
  // Tables of other costs are not those of one file.
  if (IsCosts(base) || IsCosts(over)) return over;
  // Another policy, verifier or drafter has keys of its own.
  const Params* name = base.Find("name");
  const Params* other = over.Find("name");
  if (name != nullptr && other != nullptr && name->text() != other->text())
    return over;
  std::vector<Params::Entry> entries = EntriesOf(base);
  for (const Params::Entry& entry : over.entries()) {
    const auto own = FindEntry(entries, entry.key);
    if (own == entries.end())
      entries.push_back(entry);
    else
      *own = {entry.key, entry.key_origin, Overlay(own->value, entry.value)};
  }
  return Params::Map(std::move(entries), over.origin());
}

absl::StatusOr<Params> WithValue(const Params& root, absl::string_view path,
                                 const Params& value) {
  const auto dot = KeyEnd(root, path);
  const absl::string_view key = path.substr(0, dot);
  const absl::string_view rest =
      dot == absl::string_view::npos ? "" : path.substr(dot + 1);
  if (key.empty() || (dot != absl::string_view::npos && rest.empty()))
    return value.Error("the path of a setting has an empty part");
  if (root.kind() == Params::Kind::kList)
    return WithItem(root, key, rest, value);
  if (root.kind() == Params::Kind::kScalar)
    return value.Error(absl::StrCat("the setting '", path, "' goes into '",
                                    root.text(), "', which has no parts"));
  std::vector<Params::Entry> entries = EntriesOf(root);
  if (key == kEveryKey) {
    for (Params::Entry& entry : entries) {
      if (entry.value.kind() == Params::Kind::kNull) continue;  // left out
      BANYAN_ASSIGN_OR_RETURN(entry.value, WithValue(entry.value, rest, value));
    }
    return Params::Map(std::move(entries), root.origin());
  }
  auto own = FindEntry(entries, key);
  if (own == entries.end())
    own = entries.insert(entries.end(),
                         {std::string(key), value.origin(), Params()});
  if (rest.empty()) {
    own->value = value;
  } else {
    BANYAN_ASSIGN_OR_RETURN(own->value, WithValue(own->value, rest, value));
  }
  return Params::Map(std::move(entries), root.origin());
}

Params With(const Params& map, Params::Entry entry) {
  std::vector<Params::Entry> entries = EntriesOf(map);
  const auto own = FindEntry(entries, entry.key);
  if (own == entries.end())
    entries.push_back(std::move(entry));
  else
    own->value = std::move(entry.value);
  return Params::Map(std::move(entries), map.origin());
}

Params Without(const Params& map, absl::string_view key) {
  std::vector<Params::Entry> entries;
  for (const Params::Entry& entry : map.entries())
    if (entry.key != key) entries.push_back(entry);
  return Params::Map(std::move(entries), map.origin());
}

}  // namespace banyan
