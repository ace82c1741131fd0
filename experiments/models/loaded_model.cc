#include "experiments/models/loaded_model.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/byte_size.h"
#include "core/base/dtype.h"
#include "core/base/status_macros.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/device/ranks/communicator.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/pack/pack_file.h"
#include "core/tokenizer/tokenizer.h"
#include "core/transformer/model_split.h"
#include "core/transformer/network.h"
#include "core/transformer/transformer.h"
#include "experiments/plan/model_spec.h"

namespace banyan {
namespace {

// Whether every matrix is stored as BF16.
absl::StatusOr<bool> AllBf16(const Checkpoint& checkpoint) {
  bool all = true;
  absl::Status status;
  ForEachSource(checkpoint.architecture(), [&](const WeightSource& source) {
    if (source.columns == 1) return;  // vectors stay 32-bit anyway
    const absl::StatusOr<StoredTensor> tensor = checkpoint.Tensor(source);
    if (!tensor.ok())
      status.Update(tensor.status());
    else if (tensor->dtype != DType::kBf16)
      all = false;
  });
  BANYAN_RETURN_IF_ERROR(status);
  return all;
}

absl::StatusOr<WeightFormat> ReadFormat(const ModelSpec& spec,
                                        const Checkpoint& checkpoint) {
  const std::string& name = spec.weights;
  if (!IsWeightsName(name))
    return absl::InvalidArgumentError(absl::StrCat(
        "weights: expected ", kWeightsNames, ", found '", name, "'"));
  if (checkpoint.pack() != nullptr) {
    const WeightFormat packed = checkpoint.pack()->format;
    if (name == "auto" || name == Name(packed)) return packed;
    if (spec.copy) return *FindFormat(name);
    return absl::InvalidArgumentError(
        absl::StrCat(checkpoint.directory(), ": weights: expected ",
                     Name(packed), ", as the model was packed, found ", name));
  }
  if (const auto format = FindFormat(name); format.has_value()) return *format;
  BANYAN_ASSIGN_OR_RETURN(const bool all_bf16, AllBf16(checkpoint));
  return all_bf16 ? WeightFormat::kBf16 : WeightFormat::kF32;
}

}  // namespace

std::string GrownNote(const Model& model) {
  if (model.grown_from().empty()) return "";
  // The name stands in a file and may be anything.
  return absl::StrCat(" (grown from ",
                      absl::Utf8SafeCHexEscape(model.grown_from()), ")");
}

std::size_t CacheBytesPerToken(const Model& model) {
  const Network* const network = model.facets().network;
  if (network == nullptr) return 0;
  const Architecture& architecture = network->architecture();
  const auto numbers =  // a key and a value
      2 * static_cast<std::size_t>(network->split().kv_heads()) *
      static_cast<std::size_t>(architecture.head_dim);
  return architecture.layers.size() * numbers * sizeof(float);
}

PassGathers GathersOf(const Model& model) {
  const Network* const network = model.facets().network;
  if (network == nullptr) return {};
  const ModelSplit& split = network->split();
  const int layers = network->layers();
  const double layer = double{1} * split.queries().size() +
                       2.0 * split.hidden().size() + split.inner().size();
  return {.gathers = 4 * layers + 1,
          .row_bytes = (layers * layer + network->logits()) *
                       static_cast<double>(sizeof(float))};
}

absl::StatusOr<WeightFormat> ResolveFormat(const ModelSpec& spec) {
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<Checkpoint> checkpoint,
                          Checkpoint::Open(spec.directory));
  return ReadFormat(spec, *checkpoint);
}

absl::StatusOr<LoadedModel> LoadModel(const ModelSpec& spec,
                                      std::shared_ptr<Backend> backend,
                                      const Model* resident,
                                      std::shared_ptr<Communicator> ranks) {
  LoadedModel loaded;
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<Checkpoint> checkpoint,
                          Checkpoint::Open(spec.directory));
  loaded.warnings = checkpoint->warnings();
  TransformerOptions options = {.ranks = std::move(ranks)};
  BANYAN_ASSIGN_OR_RETURN(options.format, ReadFormat(spec, *checkpoint));
  if (!spec.memory.empty()) {
    // Told without weights too, so that a check finds it.
    if (backend->facts().device != "cpu")
      return absl::InvalidArgumentError(
          absl::StrCat("memory: ", backend->description(),
                       " has no bound on memory; expected the device cpu"));
    absl::StatusOr<std::uint64_t> memory = ParseByteSize(spec.memory);
    if (!memory.ok())
      return absl::InvalidArgumentError(
          absl::StrCat("memory: ", memory.status().message()));
    options.room = {.memory = static_cast<std::size_t>(*memory),
                    .reserved = spec.reserved,
                    .copies = FindFormat(spec.copies)};
  }
  absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer =
      Tokenizer::Load(spec.directory);
  if (tokenizer.ok()) {
    loaded.tokenizer = *std::move(tokenizer);
    options.used_vocab = loaded.tokenizer->vocab_size();
  } else if (absl::IsNotFound(tokenizer.status())) {
    loaded.no_tokenizer = std::string(tokenizer.status().message());
  } else {
    return tokenizer.status();
  }
  BANYAN_ASSIGN_OR_RETURN(
      loaded.model,
      Transformer::Load(
          *checkpoint, options, std::move(backend), {},
          resident == nullptr ? nullptr : resident->facets().network));
  return loaded;
}

}  // namespace banyan
