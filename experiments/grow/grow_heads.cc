#include "experiments/grow/grow_heads.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/read_file.h"
#include "core/base/status_macros.h"
#include "core/model/architecture.h"
#include "core/model/config_reader.h"
#include "core/model/medusa_file.h"
#include "core/model/stored_tensor.h"
#include "experiments/grow/grow_model.h"
#include "experiments/grow/output_folder.h"
#include "experiments/grow/tensor_plan.h"
#include "experiments/grow/write_tensors.h"
#include "nlohmann/json.hpp"

namespace banyan {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;
absl::StatusOr<Json> ReadConfig(const std::string& path) {
  BANYAN_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxConfigBytes));
  BANYAN_ASSIGN_OR_RETURN(ConfigReader in, ConfigReader::Parse(text, path));
  if (in.Has("grown_from"))
    in.Fail("grown_from", "the heads are themselves grown: grow those");
  BANYAN_RETURN_IF_ERROR(in.status());
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

// New rows are zero, new columns noise.
std::vector<GrownTensor> Plan(const MedusaFile& file,
                              const HeadsGrowth& growth) {
  const Axis hidden = Axis::First(growth.hidden, growth.new_hidden);
  std::vector<GrownTensor> tensors;
  const auto add = [&](const WeightSource& source, const Axis& rows,
                       const Axis& columns) {
    const StoredTensor& old = file.Tensor(source);
    tensors.push_back({.name = source.tensor,
                       .dtype = old.dtype,
                       .old = old,
                       .rows = rows,
                       .columns = columns,
                       .is_vector = old.shape.size() == 1,
                       .new_columns = Fill::kNoise});
  };
  for (int head = 0; head < file.heads(); ++head) {
    for (int block = 0; block < file.blocks(); ++block) {
      add(file.Linear(head, block), hidden, hidden);
      add(file.Bias(head, block), hidden, Axis::First(1, 1));
    }
    if (file.own_outputs())
      add(file.Output(head), Axis::First(growth.vocab, growth.vocab), hidden);
  }
  return tensors;
}

}  // namespace

absl::StatusOr<GrownHeads> GrowHeads(const std::string& from,
                                     const HeadsGrowth& growth,
                                     const WriteOptions& options,
                                     OutputFolder& folder) {
  BANYAN_ASSIGN_OR_RETURN(Json config,
                          ReadConfig(absl::StrCat(from, "/config.json")));
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<MedusaFile> file,
                          MedusaFile::Open(from, growth.hidden, growth.vocab));
  const std::vector<GrownTensor> tensors = Plan(*file, growth);
  const GrownHeads grown = {.heads = file->heads(),
                            .blocks = file->blocks(),
                            .own_matrices = file->own_outputs(),
                            .bytes = TotalBytes(tensors)};
  BANYAN_RETURN_IF_ERROR(folder.RequireSpace(grown.bytes));
  BANYAN_RETURN_IF_ERROR(WriteTensors(
      tensors, options, folder,
      [&](const GrownTensor& tensor) { file->Release(*tensor.old); }));
  if (config.contains("hidden_size")) config["hidden_size"] = growth.new_hidden;
  config["grown_from"] = {{"name", BaseName(from)},
                          {"hidden_size", growth.hidden},
                          {"seed", options.seed}};
  BANYAN_RETURN_IF_ERROR(folder.Write(
      "config.json",
      config.dump(2, ' ', true, Json::error_handler_t::replace) + "\n"));
  return grown;
}

}  // namespace banyan
