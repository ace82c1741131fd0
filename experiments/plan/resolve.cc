#include "experiments/plan/resolve.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "configs/loader/loader.h"
#include "core/base/errors.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "experiments/plan/params_edit.h"

namespace banyan {
namespace {

namespace fs = std::filesystem;

// A method with its preset under it.
absl::StatusOr<Params> WithPreset(const Params::Entry& method) {
  if (method.value.kind() != Params::Kind::kMap)
    return method.value.Expected("a method: a preset, or its sections");
  const Params* preset = method.value.Find("preset");
  if (preset == nullptr) return method.value;
  std::string path;
  BANYAN_RETURN_IF_ERROR(Convert(*preset, path));
  const absl::StatusOr<Params> base = LoadYamlFile(Beside(*preset, path));
  if (!base.ok()) return preset->Error(base.status().message());
  return Overlay(*base, Without(method.value, "preset"));
}

absl::StatusOr<Params> WithPresets(const Params& file) {
  const Params* methods = file.Find("methods");
  if (methods == nullptr || methods->kind() != Params::Kind::kMap) return file;
  std::vector<Params::Entry> entries;
  Errors errors;
  for (const Params::Entry& entry : methods->entries()) {
    if (entry.key.empty())
      return ErrorAt(entry.key_origin,
                     "expected a method's name, found an empty text");
    if (entry.key == kPlainMethod)
      return ErrorAt(entry.key_origin,
                     "'plain' is the name of the baseline, which every "
                     "experiment has");
    absl::StatusOr<Params> section = WithPreset(entry);
    errors.Add(section.status());
    if (section.ok())
      entries.push_back({entry.key, entry.key_origin, *std::move(section)});
  }
  BANYAN_RETURN_IF_ERROR(errors.status());
  return WithValue(file, "methods",
                   Params::Map(std::move(entries), methods->origin()));
}

// `method` with the base's models in the place of its own of the same names.
absl::StatusOr<Params> WithBaseModels(Params method, const Params& models) {
  const Params* own = method.Find("models");
  if (own == nullptr || own->kind() != Params::Kind::kMap) return method;
  std::vector<Params::Entry> entries(own->entries().begin(),
                                     own->entries().end());
  for (Params::Entry& entry : entries)
    if (const Params* other = models.Find(entry.key); other != nullptr)
      entry.value = *other;
  return WithValue(method, "models",
                   Params::Map(std::move(entries), own->origin()));
}

// The target and the models of the file that `base` names, under the
// experiment's own.
absl::StatusOr<Params> WithBase(const Params& file) {
  const Params* base = file.Find("base");
  if (base == nullptr) return file;
  std::string path;
  BANYAN_RETURN_IF_ERROR(Convert(*base, path));
  const absl::StatusOr<Params> read = LoadYamlFile(Beside(*base, path));
  if (!read.ok()) return base->Error(read.status().message());
  ParamsReader in(*read, "base");
  const Params* target = in.TakeRequired("target");
  const Params* models = in.Take("models");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  Params result = Without(file, "base");
  const Params* own = file.Find("target");
  BANYAN_ASSIGN_OR_RETURN(
      result, WithValue(result, "target",
                        own == nullptr ? *target : Overlay(*target, *own)));
  const Params* methods = file.Find("methods");
  if (models == nullptr || methods == nullptr ||
      methods->kind() != Params::Kind::kMap)
    return result;
  if (models->kind() != Params::Kind::kMap)
    return models->Expected("a map from names to models");
  std::vector<Params::Entry> entries(methods->entries().begin(),
                                     methods->entries().end());
  for (Params::Entry& entry : entries) {
    BANYAN_ASSIGN_OR_RETURN(entry.value, WithBaseModels(entry.value, *models));
  }
  return WithValue(result, "methods",
                   Params::Map(std::move(entries), methods->origin()));
}

absl::StatusOr<Params> WithSettings(Params file, const Settings& settings,
                                    bool presets) {
  for (const auto& [path, value] : settings) {
    if (IsPreset(path) != presets) continue;
    BANYAN_ASSIGN_OR_RETURN(file, WithValue(file, path, value));
  }
  return file;
}

// A text of another file that may be a path, if it leads somewhere from there.
Params TextFrom(const Params& value, const Params& file) {
  const Origin& here = file.origin();
  const Origin& there = value.origin();
  if (here.file == nullptr || there.file == nullptr ||
      *there.file == *here.file ||
      value.text().find_first_of("/.") == std::string::npos)
    return value;
  std::error_code error;
  const fs::path found = Beside(value, value.text());
  if (!fs::exists(found, error)) return value;
  const fs::path folder = fs::path(*here.file).parent_path();
  const fs::path path =
      fs::relative(found, folder.empty() ? "." : folder, error);
  return error ? value : Params::Scalar(path.string(), there);
}

}  // namespace

bool IsPreset(absl::string_view path) {
  return path == "base" || (absl::StartsWith(path, "methods.") &&
                            absl::EndsWith(path, ".preset"));
}

absl::StatusOr<Params> Resolve(const Params& file, const Settings& settings) {
  BANYAN_ASSIGN_OR_RETURN(const Params chosen,
                          WithSettings(file, settings, /*presets=*/true));
  BANYAN_ASSIGN_OR_RETURN(const Params filled, WithPresets(chosen));
  BANYAN_ASSIGN_OR_RETURN(Params whole, WithBase(filled));
  return WithSettings(std::move(whole), settings, /*presets=*/false);
}

Params AsNamedFrom(const Params& value, const Params& file) {
  switch (value.kind()) {
    case Params::Kind::kNull:
      return value;
    case Params::Kind::kScalar:
      return TextFrom(value, file);
    case Params::Kind::kList: {
      std::vector<Params> items;
      for (const Params& item : value.items())
        items.push_back(AsNamedFrom(item, file));
      return Params::List(std::move(items), value.origin());
    }
    case Params::Kind::kMap: {
      std::vector<Params::Entry> entries;
      for (const Params::Entry& entry : value.entries())
        entries.push_back(
            {entry.key, entry.key_origin, AsNamedFrom(entry.value, file)});
      return Params::Map(std::move(entries), value.origin());
    }
  }
  return value;
}

}  // namespace banyan
