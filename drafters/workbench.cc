#include "drafters/workbench.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/nearest.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"

namespace banyan {
namespace {

constexpr char kModel[] = "model";  // the key of those that are open

}  // namespace

void Workbench::AddModel(const std::string& name,
                         std::shared_ptr<const Model> model) {
  named_[name] = {.key = kModel, .model = std::move(model), .place = {}};
}

void Workbench::AddFolder(const std::string& name, absl::string_view key,
                          Params place) {
  named_[name] = {
      .key = std::string(key), .model = nullptr, .place = std::move(place)};
}

absl::StatusOr<SamplingRule> Workbench::TakeRule(ParamsReader& in) const {
  const Params* sampling = in.Take("sampling");
  if (sampling == nullptr) return rule_;
  return SamplingRule::FromParams(*sampling);
}

absl::StatusOr<std::shared_ptr<const Model>> Workbench::Open(
    const Params& name) {
  BANYAN_ASSIGN_OR_RETURN(const Named* named, Find(kModel, name));
  return named->model;
}

absl::StatusOr<const Workbench::Named*> Workbench::Find(absl::string_view key,
                                                        const Params& name) {
  std::string text;
  BANYAN_RETURN_IF_ERROR(Convert(name, text));
  opened_.insert(text);
  const auto found = named_.find(text);
  if (found != named_.end() && found->second.key == key) return &found->second;
  std::vector<absl::string_view> names;
  for (const auto& [known, named] : named_)
    if (named.key == key) names.emplace_back(known);
  return name.Error(UnknownName(key, text, names));
}

}  // namespace banyan
