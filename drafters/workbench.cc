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

namespace banyan {

void Workbench::AddModel(const std::string& name,
                         std::shared_ptr<const Model> model) {
  models_[name] = std::move(model);
}

absl::StatusOr<std::shared_ptr<const Model>> Workbench::Open(
    const Params& name) const {
  std::string text;
  BANYAN_RETURN_IF_ERROR(Convert(name, text));
  const auto found = models_.find(text);
  if (found != models_.end()) return found->second;
  std::vector<absl::string_view> known;
  for (const auto& entry : models_) known.emplace_back(entry.first);
  return name.Error(UnknownName("model", text, known));
}

}  // namespace banyan
