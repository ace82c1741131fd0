#include "experiments/plan/params_edit.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "configs/loader/yaml.h"
#include "core/base/messages.h"
#include "drafters/catalogue.h"
#include "experiments/plan/costs.h"

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

namespace {

namespace fs = std::filesystem;

bool IsMap(const Params* value) {
  return value != nullptr && value->kind() == Params::Kind::kMap;
}

// Each of the maps `under` and `over` may be null. An entry of `over` stands in
// the place of the one of its name.
Params Entries(const Params& under, const Params& over) {
  Params all = Params::Map({under.entries().begin(), under.entries().end()},
                           over.origin());
  for (const Params::Entry& entry : over.entries()) all = With(all, entry);
  return all;
}

// The methods `own` upon those of a base, key by key. Those of the base come
// first; null leaves one out.
absl::StatusOr<Params> MethodsUpon(const Params& base, const Params& own) {
  Params all =
      Params::Map({base.entries().begin(), base.entries().end()}, own.origin());
  for (const Params::Entry& entry : own.entries()) {
    const Params* under = base.Find(entry.key);
    if (entry.value.kind() != Params::Kind::kNull) {
      Params::Entry whole = entry;
      if (under != nullptr) whole.value = Overlay(*under, entry.value);
      all = With(all, std::move(whole));
      continue;
    }
    if (under == nullptr) {
      std::vector<absl::string_view> known;
      for (const auto& one : base.entries()) known.emplace_back(one.key);
      return ErrorAt(entry.key_origin,
                     UnknownName("method of the base", entry.key, known));
    }
    all = Without(all, entry.key);
  }
  return all;
}

// `before` are the files that led to `base`.
absl::StatusOr<BaseFile> ReadBase(const Params& base,
                                  std::vector<std::string> before) {
  std::string path;
  BANYAN_RETURN_IF_ERROR(Convert(base, path));
  path = Beside(base, path);
  std::error_code error;
  const std::string file = fs::weakly_canonical(path, error).string();
  if (std::find(before.begin(), before.end(), file) != before.end())
    return base.Error(absl::StrCat(path, " is a base of itself"));
  before.push_back(file);
  const absl::StatusOr<Params> read = LoadYamlFile(path);
  if (!read.ok()) return base.Error(read.status().message());
  ParamsReader in(*read, "base");
  const Params* lower = in.Take("base");
  const Params* target =
      lower == nullptr ? in.TakeRequired("target") : in.Take("target");
  const Params* models = in.Take("models");
  const Params* methods = in.Take("methods");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  if (models != nullptr && !IsMap(models))
    return models->Expected("a map from names to models");
  if (methods != nullptr && !IsMap(methods))
    return methods->Expected("a map from names to methods");
  BaseFile found;
  if (lower != nullptr) {
    BANYAN_ASSIGN_OR_RETURN(found, ReadBase(*lower, std::move(before)));
  }
  if (target != nullptr)
    found.target = found.target.kind() == Params::Kind::kNull
                       ? *target
                       : Overlay(found.target, *target);
  if (models != nullptr) found.models = Entries(found.models, *models);
  if (methods != nullptr) {
    BANYAN_ASSIGN_OR_RETURN(found.methods,
                            MethodsUpon(found.methods, *methods));
  }
  return found;
}

// Calls `change` for every method of the file that is a map.
absl::StatusOr<Params> WithMethods(
    const Params& file,
    absl::FunctionRef<absl::StatusOr<Params>(const Params& method)> change) {
  const Params* methods = file.Find("methods");
  if (!IsMap(methods)) return file;
  std::vector<Params::Entry> entries(methods->entries().begin(),
                                     methods->entries().end());
  for (Params::Entry& entry : entries) {
    if (!IsMap(&entry.value)) continue;
    BANYAN_ASSIGN_OR_RETURN(entry.value, change(entry.value));
  }
  return WithValue(file, "methods",
                   Params::Map(std::move(entries), methods->origin()));
}

// `method` with the base's models in the place of its own of the same names.
absl::StatusOr<Params> WithBaseModels(const Params& method,
                                      const Params& models) {
  const Params* own = method.Find("models");
  if (!IsMap(own)) return method;
  std::vector<Params::Entry> entries(own->entries().begin(),
                                     own->entries().end());
  for (Params::Entry& entry : entries)
    if (const Params* other = models.Find(entry.key); other != nullptr)
      entry.value = *other;
  return WithValue(method, "models",
                   Params::Map(std::move(entries), own->origin()));
}

// `method` with those of `models` that its drafters name and it has not.
absl::StatusOr<Params> WithNamedModels(const Params& method,
                                       const Params& models) {
  const Params* drafters = method.Find("drafters");
  const Params* own = method.Find("models");
  if (drafters == nullptr ||
      (own != nullptr && own->kind() != Params::Kind::kNull && !IsMap(own)))
    return method;
  std::vector<Params::Entry> entries;
  if (own != nullptr)
    entries.assign(own->entries().begin(), own->entries().end());
  const std::size_t before = entries.size();
  for (const std::string& name : ModelsOf(*drafters)) {
    if (own != nullptr && own->Find(name) != nullptr) continue;
    for (const Params::Entry& entry : models.entries())
      if (entry.key == name) entries.push_back(entry);
  }
  if (entries.size() == before) return method;
  return WithValue(method, "models", Params::Map(std::move(entries)));
}

}  // namespace

absl::StatusOr<BaseFile> ReadBaseFile(const Params& base) {
  return ReadBase(base, {});
}

absl::StatusOr<Params> WithBaseMethods(const Params& file,
                                       const BaseFile& base) {
  if (!IsMap(&base.methods)) return file;
  const Params* own = file.Find("methods");
  if (own == nullptr) return WithValue(file, "methods", base.methods);
  if (!IsMap(own)) return file;  // which the experiment will say
  BANYAN_ASSIGN_OR_RETURN(const Params methods,
                          MethodsUpon(base.methods, *own));
  return WithValue(file, "methods", methods);
}

absl::StatusOr<Params> WithBaseTarget(const Params& file,
                                      const BaseFile& base) {
  const Params* own = file.Find("target");
  BANYAN_ASSIGN_OR_RETURN(
      const Params result,
      WithValue(file, "target",
                own == nullptr ? base.target : Overlay(base.target, *own)));
  return WithMethods(result, [&](const Params& method) {
    return WithBaseModels(method, base.models);
  });
}

absl::StatusOr<Params> WithSeenModels(const Params& file,
                                      const BaseFile& base) {
  const Params* own = file.Find("models");
  const Params models = IsMap(own) ? Entries(base.models, *own) : base.models;
  return WithMethods(file, [&](const Params& method) {
    return WithNamedModels(method, models);
  });
}

}  // namespace banyan
