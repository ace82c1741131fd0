#include "experiments/makers/grow/grow_model.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <numeric>
#include <system_error>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/input_files.h"
#include "core/base/messages.h"
#include "core/base/number_rows.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/safetensors.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/checkpoint/weight_rows.h"
#include "core/json/json_value.h"
#include "drafters/draft_vocabulary.h"
#include "drafters/row.h"

namespace banyan {

namespace {

// Rows are filled until they have this many bytes: few calls to the system,
// and all of them in a near cache.
constexpr std::int64_t kBlockBytes = std::int64_t{1} << 18;

using Shard = absl::Span<const GrownTensor>;

// Tensors in order; a file begins where the one before would get too large.
std::vector<Shard> Cut(Shard tensors, std::int64_t shard_bytes) {
  std::vector<Shard> shards;
  std::size_t first = 0;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::int64_t more = tensors[i].entry().bytes();
    if (i > first && bytes + more > shard_bytes) {
      shards.push_back(tensors.subspan(first, i - first));
      first = i;
      bytes = 0;
    }
    bytes += more;
  }
  shards.push_back(tensors.subspan(first));
  return shards;
}

absl::Status WriteTensor(const GrownTensor& tensor, std::uint64_t seed,
                         SafetensorsWriter& file) {
  const std::int64_t row_bytes = DTypeBytes(tensor.dtype) * tensor.columns.size;
  const int rows =
      static_cast<int>(std::max(std::int64_t{1}, kBlockBytes / row_bytes));
  std::vector<std::byte> block;
  for (int first = 0; first < tensor.rows.size; first += rows) {
    const int count = std::min(rows, tensor.rows.size - first);
    block.resize(static_cast<std::size_t>(count * row_bytes));
    BANYAN_RETURN_IF_ERROR(
        FillRows(tensor, seed, first, count, absl::MakeSpan(block)));
    BANYAN_RETURN_IF_ERROR(file.Append(block));
  }
  return absl::OkStatus();
}

absl::Status WriteIndex(const std::vector<Shard>& shards,
                        const std::vector<std::string>& names,
                        OutputFolder& folder) {
  JsonValue index;
  std::int64_t bytes = 0;
  for (const Shard& shard : shards) bytes += TotalBytes(shard);
  index["metadata"]["total_size"] = bytes;
  for (std::size_t i = 0; i < shards.size(); ++i)
    for (const GrownTensor& tensor : shards[i])
      index["weight_map"][tensor.name] = names[i];
  return folder.Write("model.safetensors.index.json", index.Text(2) + "\n");
}

}  // namespace

std::int64_t TotalBytes(absl::Span<const GrownTensor> tensors) {
  std::int64_t bytes = 0;
  for (const GrownTensor& tensor : tensors) bytes += tensor.entry().bytes();
  return bytes;
}

std::int64_t TotalNumbers(absl::Span<const GrownTensor> tensors) {
  std::int64_t numbers = 0;
  for (const GrownTensor& tensor : tensors) numbers += tensor.numbers();
  return numbers;
}

absl::Status WriteTensors(const std::vector<GrownTensor>& tensors,
                          const WriteOptions& options, OutputFolder& folder,
                          absl::FunctionRef<void(const GrownTensor&)> done) {
  const std::vector<Shard> shards = Cut(tensors, options.shard_bytes);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    names.push_back(shards.size() == 1
                        ? "model.safetensors"
                        : absl::StrFormat("model-%05d-of-%05d.safetensors",
                                          i + 1, shards.size()));
    std::vector<TensorEntry> entries;
    for (const GrownTensor& tensor : shards[i])
      entries.push_back(tensor.entry());
    BANYAN_ASSIGN_OR_RETURN(
        const std::unique_ptr<SafetensorsWriter> file,
        SafetensorsWriter::Create(folder.File(names.back()), entries));
    for (const GrownTensor& tensor : shards[i]) {
      BANYAN_RETURN_IF_ERROR(WriteTensor(tensor, options.seed, *file));
      done(tensor);
    }
    BANYAN_RETURN_IF_ERROR(file->Finish());
  }
  if (shards.size() == 1) return absl::OkStatus();
  return WriteIndex(shards, names, folder);
}

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

namespace {

constexpr std::size_t kMaxHeadConfigBytes = std::size_t{1} << 20;

// The config.json at `path`.
absl::StatusOr<JsonValue> ReadConfig(const std::string& path) {
  BANYAN_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxHeadConfigBytes));
  BANYAN_ASSIGN_OR_RETURN(ConfigReader in, ConfigReader::Parse(text, path));
  if (in.Has("grown_from"))
    in.Fail("grown_from", "the heads are themselves grown: grow those");
  BANYAN_RETURN_IF_ERROR(in.status());
  BANYAN_ASSIGN_OR_RETURN(const JsonTree tree, JsonTree::Parse(text, path));
  return tree.root().Value();
}

// The heads as the first drafter that can reads them.
absl::StatusOr<GrowableHeads> OpenHeads(const std::string& from,
                                        const HeadsGrowth& growth) {
  std::vector<std::string> reasons;
  absl::StatusCode code = absl::StatusCode::kInvalidArgument;
  for (const DrafterRow& row : growth.drafters) {
    if (row.heads.growable == nullptr) continue;
    absl::StatusOr<GrowableHeads> heads =
        row.heads.growable(from, growth.target);
    if (heads.ok()) return heads;
    if (reasons.empty()) code = heads.status().code();
    reasons.push_back(
        absl::StrCat("as those of ", row.name, ", ", heads.status().message()));
  }
  return absl::Status(code, absl::StrCat("no drafter can read the heads: ",
                                         absl::StrJoin(reasons, "; ")));
}

Axis Grown(const HeadAxis& axis, std::int64_t size) {
  const int old_size = static_cast<int>(size);
  if (axis.size == 0) return Axis::First(old_size, old_size);
  Check(old_size % axis.block == 0, "an axis of whole blocks");
  return {.size = axis.size,
          .old_size = old_size,
          .old_block = axis.block,
          .new_block = axis.new_block};
}

// Reads every row of a tensor of weights, not of a table, into `last`, which
// keeps the last one, a vector whole. Refuses a number that is not finite.
absl::Status ReadWeights(const std::string& from, const HeadTensor& tensor,
                         std::vector<float>& last) {
  const std::vector<std::int64_t>& shape = tensor.stored.shape;
  const bool is_vector = shape.size() == 1;
  const int size = static_cast<int>(shape[0]);
  const WeightSource source = {
      .stored_shape = shape,
      .rows = size,
      .columns = is_vector ? 1 : static_cast<int>(shape[1])};
  if (!CheckStored(tensor.stored, source).ok()) return absl::OkStatus();
  const int together = is_vector ? size : 1;
  last.resize(static_cast<std::size_t>(together * source.columns));
  for (int row = 0; row < size; row += together) {
    const absl::Status read =
        ReadRows(tensor.stored, source, {row, together}, last.data());
    if (absl::IsDataLoss(read)) return read;  // which names the file
    if (!read.ok())
      return absl::Status(
          read.code(), absl::StrCat(from, ": tensor ", QuotedName(tensor.name),
                                    ": ", read.message()));
  }
  return absl::OkStatus();
}

Fill NoiseIf(bool noisy) { return noisy ? Fill::kNoise : Fill::kZero; }

absl::StatusOr<std::vector<GrownTensor>> PlanHeads(const std::string& from,
                                                   const GrowableHeads& heads) {
  std::vector<GrownTensor> tensors;
  std::vector<float> weights;
  for (const HeadTensor& tensor : heads.tensors) {
    const StoredTensor& old = tensor.stored;
    const bool is_vector = old.shape.size() == 1;
    tensors.push_back({.name = tensor.name,
                       .dtype = old.dtype,
                       .old = old,
                       .rows = Grown(tensor.rows, old.shape[0]),
                       .columns = is_vector
                                      ? Axis::First(1, 1)
                                      : Grown(tensor.columns, old.shape[1]),
                       .is_vector = is_vector,
                       .new_rows = NoiseIf(tensor.noisy_rows),
                       .new_columns = NoiseIf(tensor.noisy_columns)});
    BANYAN_RETURN_IF_ERROR(ReadWeights(from, tensor, weights));
    if (!tensor.is_norm) continue;
    tensors.back().new_rows = Fill::kGain;
    ScaleNorm(weights, tensor.rows.block, tensor.rows.new_block,
              tensors.back());
  }
  return tensors;
}

}  // namespace

absl::StatusOr<GrownHeads> GrowHeads(const std::string& from,
                                     const HeadsGrowth& growth,
                                     const WriteOptions& options,
                                     OutputFolder& folder) {
  BANYAN_ASSIGN_OR_RETURN(JsonValue config,
                          ReadConfig(absl::StrCat(from, "/config.json")));
  BANYAN_ASSIGN_OR_RETURN(const GrowableHeads heads, OpenHeads(from, growth));
  BANYAN_ASSIGN_OR_RETURN(const std::vector<GrownTensor> tensors,
                          PlanHeads(from, heads));
  const GrownHeads grown = {.summary = heads.summary,
                            .facts = heads.facts,
                            .like_target = !heads.keep_their_cost,
                            .bytes = TotalBytes(tensors)};
  BANYAN_RETURN_IF_ERROR(folder.RequireSpace(grown.bytes));
  BANYAN_RETURN_IF_ERROR(WriteTensors(tensors, options, folder,
                                      [](const GrownTensor& /*written*/) {}));
  for (const HeadKey& key : heads.keys) {
    JsonValue& place = key.section.empty() ? config : config[key.section];
    std::visit([&](const auto& value) { place[key.key] = value; }, key.value);
  }
  if (heads.keys.empty() && !config["hidden_size"].is_null())
    config["hidden_size"] = growth.target.new_hidden_size;
  config["grown_from"] = {{"name", BaseName(from)},
                          {"hidden_size", growth.target.hidden_size},
                          {"seed", options.seed},
                          {"like_target", grown.like_target}};
  BANYAN_RETURN_IF_ERROR(folder.CopyIfThere(from, kVocabularyFile));
  BANYAN_RETURN_IF_ERROR(folder.Write("config.json", config.Text(2) + "\n"));
  return grown;
}

}  // namespace banyan
