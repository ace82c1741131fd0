// A model's directory, ready to run: weights behind Model, and its tokenizer.
#ifndef BANYAN_EXPERIMENTS_MODELS_LOADED_MODEL_H_
#define BANYAN_EXPERIMENTS_MODELS_LOADED_MODEL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/params.h"
#include "core/model/model.h"
#include "core/model/tokenizer/tokenizer.h"
#include "core/ops/backend.h"
#include "core/ops/weight.h"

namespace banyan {

struct ModelSpec {
  std::string directory;
  // How weights are kept in memory: f32, bf16 or q8; or auto, which is bf16 if
  // every matrix is stored as BF16 and else f32, so that nothing is lost.
  std::string weights = "auto";
};

// The formats that ModelSpec may name, for messages, and whether `name` is one.
inline constexpr char kWeightsNames[] = "auto, f32, bf16 or q8";
bool IsWeightsName(absl::string_view name);

// Takes `directory`, relative to the file that names it, and `weights`, which
// may be left out. Errors are the reader's.
ModelSpec TakeModelSpec(ParamsReader& in);

struct LoadedModel {
  std::shared_ptr<const Model> model;
  std::shared_ptr<const Tokenizer> tokenizer;  // null: no tokenizer.json
};

// "f32", "bf16" or "q8".
absl::string_view Name(WeightFormat format);

// " (grown from NAME)" for a grown model, else nothing: what every report says
// after the model it names.
std::string GrownNote(const Model& model);

// The format that `spec` asks for, without reading the weights. Fails if it is
// none of ModelSpec's, and as Checkpoint::Open.
absl::StatusOr<WeightFormat> ResolveFormat(const ModelSpec& spec);

// Fails if the format is none of ModelSpec's, as Checkpoint::Open, Tokenizer's
// Load and Transformer::Load do, and if the tokenizer has more tokens than the
// model.
absl::StatusOr<LoadedModel> LoadModel(const ModelSpec& spec,
                                      std::shared_ptr<Backend> backend);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_MODELS_LOADED_MODEL_H_
