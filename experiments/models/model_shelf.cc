#include "experiments/models/model_shelf.h"

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"
#include "core/model/medusa_heads.h"
#include "core/model/transformer.h"
#include "core/ops/weight.h"
#include "experiments/models/loaded_model.h"

namespace banyan {
namespace {

// The one way to spell a directory; `what` it should hold.
absl::StatusOr<std::string> Place(const std::string& directory,
                                  absl::string_view what) {
  std::error_code error;
  const std::filesystem::path place =
      std::filesystem::canonical(directory, error);
  if (error || !std::filesystem::is_directory(place, error))
    return absl::NotFoundError(
        absl::StrCat(what, ": '", directory, "' is not a directory"));
  return place.string();
}

}  // namespace

absl::StatusOr<LoadedModel> ModelShelf::Open(const ModelSpec& spec) {
  BANYAN_ASSIGN_OR_RETURN(std::string place, Place(spec.directory, "model"));
  BANYAN_ASSIGN_OR_RETURN(const WeightFormat format, ResolveFormat(spec));
  const std::pair key(std::move(place), format);
  if (const auto found = models_.find(key); found != models_.end())
    return found->second;
  BANYAN_ASSIGN_OR_RETURN(LoadedModel loaded,
                          LoadModel({.directory = spec.directory,
                                     .weights = std::string(Name(format))},
                                    backend_));
  return models_.emplace(key, std::move(loaded)).first->second;
}

absl::StatusOr<std::shared_ptr<const MedusaHeads>> ModelShelf::OpenHeads(
    const std::string& directory, const LoadedModel& target) {
  BANYAN_ASSIGN_OR_RETURN(std::string place, Place(directory, "heads"));
  std::shared_ptr<const MedusaHeads>& heads =
      heads_[{std::move(place), target.model.get()}];
  if (heads == nullptr) {
    // What LoadModel gives is one.
    const auto& transformer = dynamic_cast<const Transformer&>(*target.model);
    BANYAN_ASSIGN_OR_RETURN(heads,
                            MedusaHeads::Load(directory, transformer,
                                              transformer.options().format));
  }
  return heads;
}

}  // namespace banyan
