#include "experiments/plan/base_file.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "configs/loader/loader.h"
#include "core/base/nearest.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "drafters/catalogue.h"
#include "experiments/plan/params_edit.h"

namespace banyan {
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
