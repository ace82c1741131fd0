#include "experiments/plan/one_drafter.h"

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "configs/loader/writer.h"
#include "core/base/params.h"
#include "drafters/catalogue.h"
#include "drafters/draft_vocabulary.h"
#include "experiments/plan/params_edit.h"

namespace banyan {
namespace {

// The directory or folder that a model of a method names.
const Params* PlaceOf(const Params& model) {
  if (model.kind() != Params::Kind::kMap) return nullptr;
  for (const Params::Entry& entry : model.entries())
    if (entry.key != "weights") return &entry.value;
  return nullptr;
}

// The same, where it is not the target's own directory.
const Params* FolderOf(const Params& model) {
  const Params* place = PlaceOf(model);
  return place == nullptr || place->text() == "target" ? nullptr : place;
}

// The path that stands at `place`, however it is spelt.
Params PathOf(const Params& place) {
  return Params::Scalar(std::filesystem::path(Beside(place, place.text()))
                            .lexically_normal()
                            .string());
}

// A model's name in a drafter's section, and the path that leads there.
struct ModelName {
  std::string path;
  std::string name;
};

// Those in `value`, however deep: drafters are made of drafters.
void FindModels(const Params& value, const std::string& path,
                const Params& models, std::vector<ModelName>& found) {
  if (value.kind() == Params::Kind::kScalar &&
      models.Find(value.text()) != nullptr)
    found.push_back({path, value.text()});
  const std::string before = path.empty() ? "" : absl::StrCat(path, ".");
  for (const Params::Entry& entry : value.entries())
    if (entry.key != "name" && entry.key != kVocabularyKey)
      FindModels(entry.value, absl::StrCat(before, entry.key), models, found);
  for (std::size_t i = 0; i < value.items().size(); ++i)
    FindModels(value.items()[i], absl::StrCat(before, i), models, found);
}

// `value` with every draft vocabulary in it as its path, named or found, as the
// last key of its section; all tokens are no vocabulary.
Params WithPaths(const Params& value, const Params* models) {
  if (value.kind() == Params::Kind::kList) {
    std::vector<Params> items;
    for (const Params& item : value.items())
      items.push_back(WithPaths(item, models));
    return Params::List(std::move(items), value.origin());
  }
  if (value.kind() != Params::Kind::kMap) return value;
  const Params whole = WithVocabulary(value, [&](const std::string& name) {
    const Params* model = models == nullptr ? nullptr : models->Find(name);
    return model == nullptr ? nullptr : FolderOf(*model);
  });
  std::vector<Params::Entry> entries;
  for (const Params::Entry& entry : whole.entries())
    if (entry.key != kVocabularyKey)
      entries.push_back(
          {entry.key, entry.key_origin, WithPaths(entry.value, models)});
  if (const Params* list = whole.Find(kVocabularyKey);
      list != nullptr && !IsAllTokens(*list))
    entries.push_back({kVocabularyKey, {}, PathOf(*list)});
  return Params::Map(std::move(entries), value.origin());
}

Params Named(const std::string& name) {
  return Params::Map({{"name", {}, Params::Scalar(name)}});
}

}  // namespace

OneDrafter Alone(const Params& method, const Params& drafter,
                 const std::string& target) {
  OneDrafter alone = {.section = drafter};
  const std::string title = DrafterTitle(drafter);
  alone.label = title;
  std::vector<ModelName> names;
  const Params* models = method.Find("models");
  if (models != nullptr) FindModels(drafter, "", *models, names);
  std::map<std::string, Params> used;
  Params renamed = WithPaths(drafter, models);
  std::string weights;
  for (const ModelName& one : names) {
    const Params& model = *models->Find(one.name);
    used.emplace(one.name, model);
    const Params* place = PlaceOf(model);
    if (place == nullptr) continue;  // which the method will say
    alone.label = DrafterLabel(
        title, place->text() == "target" ? target : FolderName(place->text()));
    // Whatever the model is called, it is this one.
    const absl::StatusOr<Params> other =
        WithValue(renamed, one.path, PathOf(*place));
    if (!other.ok()) continue;
    renamed = *other;
    if (const Params* format = model.Find("weights"))
      absl::StrAppend(&weights, one.path, " ", format->text());
  }
  alone.identity = absl::StrCat(ToYaml(renamed), weights);
  std::vector<Params::Entry> entries;
  for (auto& [name, model] : used) entries.push_back({name, {}, model});
  alone.models = Params::Map(std::move(entries));
  return alone;
}

Params MethodOf(const OneDrafter& drafter, const Params& policy,
                const Params& verifier) {
  std::vector<Params::Entry> entries;
  if (!drafter.models.entries().empty())
    entries.push_back({"models", {}, drafter.models});
  const Origin& place = drafter.section.origin();
  entries.push_back({"drafters", {}, Params::List({drafter.section}, place)});
  entries.push_back({"policy", {}, policy});
  entries.push_back({"verifier", {}, verifier});
  return Params::Map(std::move(entries), place);
}

Params ChainPolicy(int length) {
  return Overlay(
      Named("chain"),
      Params::Map({{"nodes", {}, Params::Scalar(absl::StrCat(length))}}));
}

Params ChainVerifier() { return Named("multi_round"); }

std::string DrafterLabel(const std::string& title, const std::string& folder) {
  const std::size_t parts = title.find('(');
  return parts == std::string::npos ? folder : title.substr(0, parts);
}

std::string FolderName(const std::string& path) {
  const std::filesystem::path whole(path);
  return (whole.has_filename() ? whole : whole.parent_path())
      .filename()
      .string();
}

}  // namespace banyan
