#include "experiments/models/model_shelf.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/gguf/model_text.h"
#include "core/ops/weight.h"
#include "drafters/assets.h"
#include "experiments/models/loaded_model.h"

namespace banyan {

absl::StatusOr<LoadedModel> ModelShelf::Open(const ModelSpec& spec) {
  if (!IsModelFile(spec.directory))
    BANYAN_RETURN_IF_ERROR(RequireDirectory("model", spec.directory));
  BANYAN_ASSIGN_OR_RETURN(const WeightFormat format, ResolveFormat(spec));
  const ModelSpec plain = {.directory = spec.directory,
                           .weights = std::string(Name(format)),
                           .memory = spec.memory,
                           .copy = spec.copy};
  const auto load =
      [&]() -> absl::StatusOr<std::shared_ptr<const LoadedModel>> {
    BANYAN_ASSIGN_OR_RETURN(LoadedModel loaded, LoadModel(plain, backend_));
    for (const std::string& warning : loaded.warnings)
      if (warned_.insert(warning).second) warn_(warning);
    return std::make_shared<LoadedModel>(std::move(loaded));
  };
  BANYAN_ASSIGN_OR_RETURN(
      const std::shared_ptr<const LoadedModel> loaded,
      assets_->Open<LoadedModel>(
          {.path = plain.directory,
           .about = absl::StrCat(plain.weights, " ", plain.memory)},
          load));
  return *loaded;
}

}  // namespace banyan
