// ModelShelf: models by directory and format of the weights, each loaded once.
#ifndef BANYAN_EXPERIMENTS_MODELS_MODEL_SHELF_H_
#define BANYAN_EXPERIMENTS_MODELS_MODEL_SHELF_H_

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "core/model/medusa_heads.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/weight.h"
#include "experiments/models/loaded_model.h"

namespace banyan {

// For one thread. The models outlive it.
class ModelShelf {
 public:
  explicit ModelShelf(std::shared_ptr<Backend> backend)
      : backend_(std::move(backend)) {}

  // Gives what it gave before for the same directory, however spelt, and the
  // same format, asked for by name or by `auto`. Fails as LoadModel, or with
  // NotFound if there is no such directory.
  absl::StatusOr<LoadedModel> Open(const ModelSpec& spec);

  // The heads of a directory, for a target that this shelf gave, in its format;
  // loaded once. Fails as MedusaHeads::Load.
  absl::StatusOr<std::shared_ptr<const MedusaHeads>> OpenHeads(
      const std::string& directory, const LoadedModel& target);

  Backend& backend() const { return *backend_; }

 private:
  std::shared_ptr<Backend> backend_;
  std::map<std::pair<std::string, WeightFormat>, LoadedModel> models_;
  std::map<std::pair<std::string, const Model*>,
           std::shared_ptr<const MedusaHeads>>
      heads_;
};

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_MODELS_MODEL_SHELF_H_
