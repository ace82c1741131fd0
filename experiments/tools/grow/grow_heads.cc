#include "experiments/tools/grow/grow_heads.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/check.h"
#include "core/base/read_file.h"
#include "core/base/status_macros.h"
#include "core/checkpoint/config_reader.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/json/json_at.h"
#include "core/json/json_value.h"
#include "drafters/catalogue.h"
#include "drafters/head_growth.h"
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
    if (row.growable == nullptr) continue;
    absl::StatusOr<GrowableHeads> heads =
        row.growable(from, {.hidden_size = growth.hidden,
                            .new_hidden_size = growth.new_hidden,
                            .vocab_size = growth.vocab,
                            .checkpoint = growth.target});
    if (heads.ok()) return heads;
    if (reasons.empty()) code = heads.status().code();
    reasons.push_back(
        absl::StrCat("as those of ", row.name, ", ", heads.status().message()));
  }
  return absl::Status(code, absl::StrCat("no drafter can read the heads: ",
                                         absl::StrJoin(reasons, "; ")));
}

// `states` hidden states side by side, or with none an axis as it is.
Axis Grown(int states, std::int64_t size, const HeadsGrowth& growth) {
  const int old_size = static_cast<int>(size);
  if (states == 0) return Axis::First(old_size, old_size);
  Check(old_size == states * growth.hidden,
        "an axis of as many hidden states as it is said to have");
  return {.size = states * growth.new_hidden,
          .old_size = old_size,
          .old_block = growth.hidden,
          .new_block = growth.new_hidden};
}

// New rows are zero, new columns noise.
std::vector<GrownTensor> Plan(const GrowableHeads& heads,
                              const HeadsGrowth& growth) {
  std::vector<GrownTensor> tensors;
  for (const HeadTensor& tensor : heads.tensors) {
    const StoredTensor& old = tensor.stored;
    const bool is_vector = old.shape.size() == 1;
    tensors.push_back({.name = tensor.name,
                       .dtype = old.dtype,
                       .old = old,
                       .rows = Grown(tensor.row_states, old.shape[0], growth),
                       .columns = is_vector ? Axis::First(1, 1)
                                            : Grown(tensor.column_states,
                                                    old.shape[1], growth),
                       .is_vector = is_vector,
                       .new_columns = Fill::kNoise});
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
  const std::vector<GrownTensor> tensors = Plan(heads, growth);
  const GrownHeads grown = {.summary = heads.summary,
                            .facts = heads.facts,
                            .bytes = TotalBytes(tensors)};
  BANYAN_RETURN_IF_ERROR(folder.RequireSpace(grown.bytes));
  BANYAN_RETURN_IF_ERROR(WriteTensors(tensors, options, folder,
                                      [](const GrownTensor& /*written*/) {}));
  for (const HeadKey& key : heads.keys) {
    JsonValue& place = key.section.empty() ? config : config[key.section];
    std::visit([&](const auto& value) { place[key.key] = value; }, key.value);
  }
  if (heads.keys.empty() && !config["hidden_size"].is_null())
    config["hidden_size"] = growth.new_hidden;
  config["grown_from"] = {{"name", BaseName(from)},
                          {"hidden_size", growth.hidden},
                          {"seed", options.seed}};
  BANYAN_RETURN_IF_ERROR(folder.Write("config.json", config.Text(2) + "\n"));
  return grown;
}

}  // namespace banyan
