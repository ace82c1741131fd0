#include "drafters/workbench.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/nearest.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/model/medusa_heads.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"

namespace banyan {
namespace {

// The entry that `name` names; `what` is what the map holds.
template <typename T>
absl::StatusOr<std::shared_ptr<const T>> Find(
    const std::map<std::string, std::shared_ptr<const T>>& known,
    absl::string_view what, const Params& name) {
  std::string text;
  BANYAN_RETURN_IF_ERROR(Convert(name, text));
  const auto found = known.find(text);
  if (found != known.end()) return found->second;
  std::vector<absl::string_view> names;
  for (const auto& entry : known) names.emplace_back(entry.first);
  return name.Error(UnknownName(what, text, names));
}

}  // namespace

void Workbench::AddModel(const std::string& name,
                         std::shared_ptr<const Model> model) {
  models_[name] = std::move(model);
}

void Workbench::AddHeads(const std::string& name,
                         std::shared_ptr<const MedusaHeads> heads) {
  heads_[name] = std::move(heads);
}

absl::StatusOr<SamplingRule> Workbench::TakeRule(ParamsReader& in) const {
  const Params* sampling = in.Take("sampling");
  if (sampling == nullptr) return rule_;
  return SamplingRule::FromParams(*sampling);
}

absl::StatusOr<std::shared_ptr<const Model>> Workbench::Open(
    const Params& name) {
  opened_.insert(name.text());
  return Find(models_, "model", name);
}

absl::StatusOr<std::shared_ptr<const MedusaHeads>> Workbench::OpenHeads(
    const Params& name) {
  opened_.insert(name.text());
  return Find(heads_, "heads", name);
}

}  // namespace banyan
