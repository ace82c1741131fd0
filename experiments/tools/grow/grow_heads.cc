#include "experiments/tools/grow/grow_heads.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/check.h"
#include "core/base/quoted_name.h"
#include "core/base/read_file.h"
#include "core/base/status_macros.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/config_reader.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/checkpoint/weight_rows.h"
#include "core/json/json_at.h"
#include "core/json/json_value.h"
#include "drafters/catalogue.h"
#include "drafters/draft_vocabulary.h"
#include "drafters/heads/head_growth.h"
#include "drafters/row.h"
#include "experiments/tools/grow/grow_model.h"
#include "experiments/tools/grow/output_folder.h"
#include "experiments/tools/grow/tensor_plan.h"
#include "experiments/tools/grow/write_tensors.h"

namespace banyan {
namespace {

constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;

// The config.json at `path`.
absl::StatusOr<JsonValue> ReadConfig(const std::string& path) {
  BANYAN_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxConfigBytes));
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

absl::StatusOr<std::vector<GrownTensor>> Plan(const std::string& from,
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
                          Plan(from, heads));
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
