#include "experiments/plan/one_drafter.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "configs/loader/writer.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "drafters/catalogue.h"
#include "drafters/draft_vocabulary.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/method_spec.h"
#include "experiments/plan/model_spec.h"
#include "experiments/plan/params_edit.h"
#include "experiments/plan/policy_spec.h"
#include "tree/policies/plans.h"

namespace banyan {
namespace {

// Null: the method has no such model.
const NamedModel* Find(const std::vector<NamedModel>& models,
                       const std::string& name) {
  const auto found =
      std::find_if(models.begin(), models.end(),
                   [&](const NamedModel& model) { return model.name == name; });
  return found == models.end() ? nullptr : &*found;
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
                const std::vector<NamedModel>& models,
                std::vector<ModelName>& found) {
  if (value.kind() == Params::Kind::kScalar &&
      Find(models, value.text()) != nullptr)
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
Params WithPaths(const Params& value, const std::vector<NamedModel>& models) {
  if (value.kind() == Params::Kind::kList) {
    std::vector<Params> items;
    for (const Params& item : value.items())
      items.push_back(WithPaths(item, models));
    return Params::List(std::move(items), value.origin());
  }
  if (value.kind() != Params::Kind::kMap) return value;
  const Params whole = WithVocabulary(value, [&](const std::string& name) {
    const NamedModel* model = Find(models, name);
    // Not of the target's own directory.
    return model == nullptr || model->spec.copy ? nullptr : &model->place;
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

}  // namespace

OneDrafter Alone(const MethodSpec& method, int number,
                 const std::string& target) {
  const Params& drafter = method.drafters[static_cast<std::size_t>(number)];
  const std::string title = DrafterTitle(drafter);
  OneDrafter alone = {.label = title, .section = drafter};
  std::vector<ModelName> names;
  FindModels(drafter, "", method.models, names);
  std::map<std::string, NamedModel> used;
  Params renamed = WithPaths(drafter, method.models);
  std::string weights;
  for (const ModelName& one : names) {
    const NamedModel& model = *Find(method.models, one.name);
    used.emplace(one.name, model);
    alone.label = DrafterLabel(
        title, model.spec.copy ? target : FolderName(model.place.text()));
    // Whatever the model is called, it is this one.
    const absl::StatusOr<Params> other =
        WithValue(renamed, one.path, PathOf(model.place));
    if (!other.ok()) continue;
    renamed = *other;
    if (model.spec.weights != ModelSpec().weights)
      absl::StrAppend(&weights, one.path, " ", model.spec.weights);
  }
  alone.identity = absl::StrCat(ToYaml(renamed), weights);
  for (auto& [name, model] : used) alone.models.push_back(std::move(model));
  return alone;
}

std::vector<OneDrafter> EachAlone(const MethodSpec& method,
                                  const std::string& target) {
  std::vector<OneDrafter> each;
  for (std::size_t i = 0; i < method.drafters.size(); ++i)
    each.push_back(Alone(method, static_cast<int>(i), target));
  return each;
}

CountedDrafter InTables(const OneDrafter& drafter) {
  return {.label = drafter.label, .kind = DrafterTitle(drafter.section)};
}

absl::Status PutStatedCosts(CostQuestion question, MethodSpec& method,
                            std::vector<std::string>& notes) {
  for (TrunkSpec& trunk : method.trunks) {
    if (trunk.policy.measures() || !trunk.policy.includes_costs()) continue;
    question.drafter = InTables(Alone(method, trunk.drafter, question.target));
    BANYAN_RETURN_IF_ERROR(trunk.policy.PutStatedCosts(question, notes));
  }
  return absl::OkStatus();
}

MethodSpec MethodOf(const OneDrafter& drafter, PolicySpec policy,
                    Params verifier) {
  MethodSpec method;
  method.place = drafter.section.origin();
  method.models = drafter.models;
  method.drafters = {drafter.section};
  method.trunks.push_back({.drafter = 0, .policy = std::move(policy)});
  method.verifier = std::move(verifier);
  return method;
}

PolicySpec ChainPolicy(int length) { return PolicySpec(ChainSection(length)); }

Params ChainVerifier() {
  return Params::Map({{"name", {}, Params::Scalar("multi_round")}});
}

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
