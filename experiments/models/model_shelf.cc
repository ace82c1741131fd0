#include "experiments/models/model_shelf.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/device/ranks/communicator.h"
#include "core/ops/weight.h"
#include "drafters/assets.h"
#include "experiments/models/loaded_model.h"

namespace banyan {

absl::StatusOr<LoadedModel> ModelShelf::Open(const ModelSpec& spec) {
  return Load(spec, nullptr, nullptr);
}

absl::StatusOr<LoadedModel> ModelShelf::OpenTarget(const ModelSpec& spec) {
  return Load(spec, nullptr, ranks_);
}

absl::StatusOr<LoadedModel> ModelShelf::OpenCopy(const ModelSpec& spec,
                                                 const LoadedModel& target) {
  return Load(spec,
              target.model->facts().disk_bytes > 0 ? target.model : nullptr,
              ranks_);
}

absl::StatusOr<LoadedModel> ModelShelf::Load(
    const ModelSpec& spec, std::shared_ptr<const Model> resident,
    const std::shared_ptr<Communicator>& ranks) {
  BANYAN_RETURN_IF_ERROR(RequireModel(spec.directory));
  BANYAN_ASSIGN_OR_RETURN(const WeightFormat format, ResolveFormat(spec));
  ModelSpec plain = spec;
  plain.weights = std::string(Name(format));
  const auto load =
      [&]() -> absl::StatusOr<std::shared_ptr<const LoadedModel>> {
    BANYAN_ASSIGN_OR_RETURN(LoadedModel loaded,
                            LoadModel(plain, backend_, resident.get(), ranks));
    for (const std::string& warning : loaded.warnings)
      if (warned_.insert(warning).second) warn_(warning);
    return std::make_shared<LoadedModel>(std::move(loaded));
  };
  BANYAN_ASSIGN_OR_RETURN(
      const std::shared_ptr<const LoadedModel> loaded,
      assets_->Open<LoadedModel>(
          {.path = plain.directory,
           .about = absl::StrCat(plain.weights, " ", plain.memory, " ",
                                 plain.reserved, " ", plain.copies,
                                 ranks == nullptr ? "" : " shared"),
           .owner = resident},
          load));
  return *loaded;
}

}  // namespace banyan
