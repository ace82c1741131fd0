#include "experiments/models/model_shelf.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/ops/weight.h"
#include "experiments/models/loaded_model.h"

namespace banyan {

absl::StatusOr<LoadedModel> ModelShelf::Open(const ModelSpec& spec) {
  std::error_code error;
  const std::filesystem::path place =
      std::filesystem::canonical(spec.directory, error);
  if (error || !std::filesystem::is_directory(place, error))
    return absl::NotFoundError(
        absl::StrCat("model: '", spec.directory, "' is not a directory"));
  BANYAN_ASSIGN_OR_RETURN(const WeightFormat format, ResolveFormat(spec));
  const std::pair key(place.string(), format);
  if (const auto found = models_.find(key); found != models_.end())
    return found->second;
  BANYAN_ASSIGN_OR_RETURN(LoadedModel loaded,
                          LoadModel({.directory = spec.directory,
                                     .weights = std::string(Name(format))},
                                    backend_));
  return models_.emplace(key, std::move(loaded)).first->second;
}

}  // namespace banyan
