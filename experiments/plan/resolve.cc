#include "experiments/plan/resolve.h"

#include <filesystem>
#include <system_error>

#include "absl/functional/function_ref.h"
#include "core/base/messages.h"
#include "experiments/plan/params_edit.h"
#include "experiments/plan/presets.h"

namespace banyan {
namespace {

namespace fs = std::filesystem;

constexpr char kBase[] = "base";

// A method with its preset under it.
absl::StatusOr<Params> WithPreset(const Params::Entry& method) {
  if (method.value.kind() != Params::Kind::kMap)
    return method.value.Expected("a method: a preset, or its sections");
  const Params* preset = method.value.Find("preset");
  if (preset == nullptr) return method.value;
  BANYAN_ASSIGN_OR_RETURN(const Params base, LoadPreset(*preset));
  return Overlay(base, Without(method.value, "preset"));
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
    if (entry.key == kPlainMethod || entry.key == kPlainRepeated)
      return ErrorAt(entry.key_origin,
                     absl::StrCat("'", entry.key,
                                  "' is plain decoding, which every experiment "
                                  "has, twice for the machine's noise"));
    absl::StatusOr<Params> section = WithPreset(entry);
    errors.Add(section.status());
    if (section.ok())
      entries.push_back({entry.key, entry.key_origin, *std::move(section)});
  }
  BANYAN_RETURN_IF_ERROR(errors.status());
  return WithValue(file, "methods",
                   Params::Map(std::move(entries), methods->origin()));
}

// Puts in the settings whose paths are of this kind.
absl::StatusOr<Params> WithSettings(
    Params file, const Settings& settings,
    absl::FunctionRef<bool(absl::string_view path)> is_of_kind) {
  for (const auto& [path, value] : settings) {
    if (!is_of_kind(path)) continue;
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
  return path == kBase || (absl::StartsWith(path, "methods.") &&
                           absl::EndsWith(path, ".preset"));
}

absl::StatusOr<Params> Resolve(const Params& file, const Settings& settings) {
  BANYAN_ASSIGN_OR_RETURN(
      Params root, WithSettings(file, settings, [](absl::string_view path) {
        return path == kBase;
      }));
  BaseFile base;
  const bool has_base = root.Find(kBase) != nullptr;
  if (has_base) {
    BANYAN_ASSIGN_OR_RETURN(base, ReadBaseFile(*root.Find(kBase)));
  }
  BANYAN_ASSIGN_OR_RETURN(root, WithBaseMethods(root, base));
  BANYAN_ASSIGN_OR_RETURN(
      root, WithSettings(root, settings, [](absl::string_view path) {
        return path != kBase && IsPreset(path);
      }));
  BANYAN_ASSIGN_OR_RETURN(root, WithPresets(root));
  if (has_base) {
    BANYAN_ASSIGN_OR_RETURN(root, WithBaseTarget(Without(root, kBase), base));
  }
  // Before the settings, which may change a model, and after them, since they
  // may name one.
  BANYAN_ASSIGN_OR_RETURN(root, WithSeenModels(root, base));
  BANYAN_ASSIGN_OR_RETURN(
      root, WithSettings(root, settings, [](absl::string_view path) {
        return !IsPreset(path);
      }));
  return WithSeenModels(root, base);
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
