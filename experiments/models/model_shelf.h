// ModelShelf: models with their tokenizers on one backend, and the cache of
// everything opened beside them.
#ifndef BANYAN_EXPERIMENTS_MODELS_MODEL_SHELF_H_
#define BANYAN_EXPERIMENTS_MODELS_MODEL_SHELF_H_

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "core/device/ranks/communicator.h"
#include "core/ops/backend.h"
#include "drafters/assets.h"
#include "experiments/models/loaded_model.h"

namespace banyan {

// For one thread. The models outlive it.
class ModelShelf {
 public:
  using Warn = std::function<void(const std::string& warning)>;

  // `warn` is told what the user should know of the models that are loaded
  // (LoadedModel::warnings), each sentence once. `ranks` share the targets;
  // null: this process has them alone.
  explicit ModelShelf(
      std::shared_ptr<Backend> backend,
      Warn warn = [](const std::string& /*warning*/) {},
      std::shared_ptr<Communicator> ranks = nullptr)
      : backend_(std::move(backend)),
        ranks_(std::move(ranks)),
        assets_(std::make_shared<Assets>()),
        warn_(std::move(warn)) {}

  // Gives what it gave before for the same directory, however spelt, and the
  // same format, asked for by name or by `auto`. Fails as LoadModel, or with
  // NotFound if there is no such directory.
  absl::StatusOr<LoadedModel> Open(const ModelSpec& spec);
  // The same of a target, whose layers the ranks share out.
  absl::StatusOr<LoadedModel> OpenTarget(const ModelSpec& spec);
  // The same of a copy of `target`, of which it shares what that has in memory
  // if that reads layers from disk.
  absl::StatusOr<LoadedModel> OpenCopy(const ModelSpec& spec,
                                       const LoadedModel& target);

  Backend& backend() const { return *backend_; }
  const std::shared_ptr<Backend>& shared_backend() const { return backend_; }
  const std::shared_ptr<Communicator>& ranks() const { return ranks_; }
  const Warn& warn() const { return warn_; }
  // What the methods on these models share.
  const std::shared_ptr<Assets>& assets() const { return assets_; }

 private:
  absl::StatusOr<LoadedModel> Load(const ModelSpec& spec,
                                   std::shared_ptr<const Model> resident,
                                   const std::shared_ptr<Communicator>& ranks);

  std::shared_ptr<Backend> backend_;
  std::shared_ptr<Communicator> ranks_;
  std::shared_ptr<Assets> assets_;
  Warn warn_;
  std::set<std::string> warned_;
};

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_MODELS_MODEL_SHELF_H_
