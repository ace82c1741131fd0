// ModelShelf: models with their tokenizers on one backend, and the cache of
// everything opened beside them.
#ifndef BANYAN_EXPERIMENTS_RUN_MODEL_SHELF_H_
#define BANYAN_EXPERIMENTS_RUN_MODEL_SHELF_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "core/ops/backend.h"
#include "drafters/assets.h"
#include "experiments/run/loaded_model.h"

namespace banyan {

// For one thread. The models outlive it.
class ModelShelf {
 public:
  explicit ModelShelf(std::shared_ptr<Backend> backend)
      : backend_(std::move(backend)), assets_(std::make_shared<Assets>()) {}

  // Gives what it gave before for the same directory, however spelt, and the
  // same format, asked for by name or by `auto`. Fails as LoadModel, or with
  // NotFound if there is no such directory.
  absl::StatusOr<LoadedModel> Open(const ModelSpec& spec);

  Backend& backend() const { return *backend_; }
  // What the methods on these models share.
  const std::shared_ptr<Assets>& assets() const { return assets_; }

 private:
  std::shared_ptr<Backend> backend_;
  std::shared_ptr<Assets> assets_;
};

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_MODEL_SHELF_H_
