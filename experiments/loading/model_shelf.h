// ModelShelf: models with their tokenizers on one backend, and the cache of
// everything opened beside them.
#ifndef BANYAN_EXPERIMENTS_LOADING_MODEL_SHELF_H_
#define BANYAN_EXPERIMENTS_LOADING_MODEL_SHELF_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/checkpoint.h"
#include "core/device/ranks/communicator.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/tokenizer/tokenizer.h"
#include "drafters/workbench.h"
#include "experiments/plan/method_spec.h"

namespace banyan {

// Loads a model's directory: the weights as a Model, and the tokenizer.
struct LoadedModel {
  std::shared_ptr<const Model> model;
  std::shared_ptr<const Tokenizer> tokenizer;  // null: there is none
  std::string no_tokenizer;                    // then why, with the file
  std::vector<std::string> warnings;           // Checkpoint::warnings
};

// " (grown from NAME)" for a grown model, else nothing: what every report says
// after the model it names.
std::string GrownNote(const Model& model);

// What a session's KV cache takes for each token; 0 for models without layers.
std::size_t CacheBytesPerToken(const Model& model);

// The gathers of a pass where ranks share the model, by its shape.
struct PassGathers {
  int gathers = 0;
  double row_bytes = 0;  // per token, of all ranks together
};
PassGathers GathersOf(const Model& model);

// Fails unless there is a directory at `path`, or a file of a model: with what
// a model may be and the commands that bring one.
absl::Status RequireModel(const std::string& path);

// Fails unless the weights in this format fit into `free` bytes: with what they
// take, what a token would at least take, and the formats and commands that
// help.
absl::Status CheckRoom(const Checkpoint& checkpoint, WeightFormat format,
                       std::uint64_t free, Backend& backend);

// The format that `spec` asks for, without reading the weights. Fails if it is
// none of ModelSpec's, and as Checkpoint::Open.
absl::StatusOr<WeightFormat> ResolveFormat(const ModelSpec& spec);

// Fails if the format is none of ModelSpec's, as Checkpoint::Open, Tokenizer's
// Load and Transformer::Load do, and if the tokenizer has more tokens than the
// model. `resident` is null, or the model whose copy this is: what that has in
// memory is shared if it reads layers from disk. `ranks` share its layers;
// null: this process has them alone.
absl::StatusOr<LoadedModel> LoadModel(
    const ModelSpec& spec, std::shared_ptr<Backend> backend,
    const Model* resident = nullptr,
    std::shared_ptr<Communicator> ranks = nullptr);

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

#endif  // BANYAN_EXPERIMENTS_LOADING_MODEL_SHELF_H_
