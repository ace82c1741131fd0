#include "experiments/tools/grow/grow_model.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/fnv1a.h"
#include "core/base/read_file.h"
#include "core/base/status_macros.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/checkpoint.h"
#include "core/json/json_at.h"
#include "core/json/json_value.h"
#include "drafters/draft_vocabulary.h"
#include "experiments/tools/grow/model_size.h"
#include "experiments/tools/grow/output_folder.h"
#include "experiments/tools/grow/tensor_plan.h"
#include "experiments/tools/grow/write_tensors.h"

namespace banyan {
namespace {

constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 24;  // Checkpoint's

// What a model's directory may hold beside config.json and the weights.
constexpr std::array<const char*, 10> kCopied = {"generation_config.json",
                                                 "tokenizer.json",
                                                 "tokenizer_config.json",
                                                 "special_tokens_map.json",
                                                 "added_tokens.json",
                                                 "tokenizer.model",
                                                 "vocab.json",
                                                 "merges.txt",
                                                 "chat_template.jinja",
                                                 kVocabularyFile};

void PutSizes(const ModelSize& size, JsonValue& config) {
  config["hidden_size"] = size.hidden;
  config["num_hidden_layers"] = size.layers;
  config["num_attention_heads"] = size.heads;
  config["num_key_value_heads"] = size.kv_heads;
  config["intermediate_size"] = size.feed_forward;
}

// The config.json of the checkpoint at its new size.
absl::StatusOr<JsonValue> GrownConfig(const Checkpoint& checkpoint,
                                      const ModelSize& size) {
  const Architecture& architecture = checkpoint.architecture();
  const std::string path = absl::StrCat(checkpoint.directory(), "/config.json");
  BANYAN_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxConfigBytes));
  BANYAN_ASSIGN_OR_RETURN(const JsonTree tree, JsonTree::Parse(text, path));
  if (!tree.root().is_object())
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": changed while it was read"));
  JsonValue config = tree.root().Value();
  PutSizes(size, config);
  config["head_dim"] = architecture.head_dim;
  // Written with as many digits as tell the number from its neighbours.
  config["rms_norm_eps"] =
      architecture.norm_epsilon * architecture.hidden_size / size.hidden;
  // Heads keep their size, so their norms keep their epsilon.
  if (architecture.layers.front().query_norm.present())
    config["head_norm_eps"] = architecture.head_norm_epsilon;
  // A new layer sees what the last one does.
  if (const JsonAt types = tree.root().At("layer_types"); types.size() > 0)
    for (int layer = static_cast<int>(types.size()); layer < size.layers;
         ++layer)
      config["layer_types"].Add(types.At(types.size() - 1).Value());
  return config;
}

void PutOrigin(const Checkpoint& checkpoint, const ModelSize& size,
               std::uint64_t seed, std::uint64_t weights, JsonValue& config) {
  const ModelSize before = SizeOf(checkpoint.architecture());
  JsonValue& origin = config["grown_from"];
  origin["name"] = BaseName(checkpoint.directory());
  PutSizes(before, origin);
  origin["weights_fnv1a"] = absl::StrCat(absl::Hex(weights, absl::kZeroPad16));
  origin["seed"] = seed;
  std::vector<int> inert(static_cast<std::size_t>(size.layers - before.layers));
  std::iota(inert.begin(), inert.end(), before.layers);
  config["inert_layers"] = inert;
}

}  // namespace

std::string BaseName(const std::string& directory) {
  std::error_code error;
  const std::filesystem::path place =
      std::filesystem::canonical(directory, error);
  const std::string name = place.filename().string();
  return error || name.empty() ? "model" : name;
}

absl::StatusOr<GrownModel> GrowModel(const Checkpoint& checkpoint,
                                     const ModelSize& size,
                                     const WriteOptions& options,
                                     OutputFolder& folder,
                                     GrowProgress progress) {
  BANYAN_RETURN_IF_ERROR(checkpoint.CheckTied());
  BANYAN_ASSIGN_OR_RETURN(JsonValue config, GrownConfig(checkpoint, size));
  BANYAN_ASSIGN_OR_RETURN(const std::vector<GrownTensor> tensors,
                          PlanTensors(checkpoint, size));
  GrownModel grown = {.before = SizeOf(checkpoint.architecture()),
                      .after = size,
                      .parameters = TotalNumbers(tensors),
                      .bytes = TotalBytes(tensors)};
  BANYAN_RETURN_IF_ERROR(folder.RequireSpace(grown.bytes));
  std::int64_t written = 0;
  std::uint64_t weights = kFnv1aStart;
  BANYAN_RETURN_IF_ERROR(
      WriteTensors(tensors, options, folder, [&](const GrownTensor& tensor) {
        if (tensor.old.has_value()) {
          grown.parameters_before +=
              std::int64_t{1} * tensor.rows.old_size * tensor.columns.old_size;
          weights = Fnv1a(tensor.old->data, weights);
          checkpoint.Release({.tensor = tensor.name});
        }
        written += tensor.entry().bytes();
        progress(written, grown.bytes);
      }));
  for (const char* name : kCopied)
    BANYAN_RETURN_IF_ERROR(folder.CopyIfThere(checkpoint.directory(), name));
  PutOrigin(checkpoint, size, options.seed, weights, config);
  // Last: a folder without it is no model.
  BANYAN_RETURN_IF_ERROR(folder.Write("config.json", config.Text(2) + "\n"));
  return grown;
}

}  // namespace banyan
