#include "experiments/grow/grow_heads.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/read_file.h"
#include "core/base/status_macros.h"
#include "core/model/architecture.h"
#include "core/model/config_reader.h"
#include "core/model/safetensors.h"
#include "core/model/stored_tensor.h"
#include "core/model/weight_rows.h"
#include "experiments/grow/grow_model.h"
#include "experiments/grow/output_folder.h"
#include "experiments/grow/tensor_plan.h"
#include "experiments/grow/write_tensors.h"
#include "nlohmann/json.hpp"

namespace banyan {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;
// Published are up to five heads of one block.
constexpr int kMaxHeads = 1024;

absl::StatusOr<Json> ReadConfig(const std::string& path) {
  BANYAN_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxConfigBytes));
  BANYAN_ASSIGN_OR_RETURN(ConfigReader in, ConfigReader::Parse(text, path));
  if (in.Has("grown_from"))
    in.Fail("grown_from", "the heads are themselves grown: grow those");
  BANYAN_RETURN_IF_ERROR(in.status());
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

absl::StatusOr<std::unique_ptr<Safetensors>> OpenWeights(
    const std::string& from) {
  absl::StatusOr<std::unique_ptr<Safetensors>> file =
      Safetensors::Open(absl::StrCat(from, "/model.safetensors"));
  if (!absl::IsNotFound(file.status())) return file;
  file = Safetensors::Open(absl::StrCat(from, "/medusa_lm_head.safetensors"));
  if (!absl::IsNotFound(file.status())) return file;
  return absl::NotFoundError(absl::StrCat(
      from, ": expected model.safetensors or medusa_lm_head.safetensors"));
}

// The number before a name's first point; -1 if there is none.
int HeadOf(absl::string_view name) {
  int head = 0;
  const bool is_number =
      absl::SimpleAtoi(name.substr(0, name.find('.')), &head);
  return is_number && head >= 0 && head < kMaxHeads ? head : -1;
}

class HeadsPlanner {
 public:
  HeadsPlanner(const Safetensors& file, const HeadsGrowth& growth)
      : file_(file),
        vocab_(Axis::First(growth.vocab, growth.vocab)),
        hidden_(Axis::First(growth.hidden, growth.new_hidden)) {}

  absl::StatusOr<std::vector<GrownTensor>> Plan() {
    BANYAN_RETURN_IF_ERROR(Count());
    for (int head = 0; head < heads_; ++head) {
      for (int block = 0; block < blocks_; ++block) {
        const std::string name = absl::StrCat(head, ".", block, ".linear.");
        BANYAN_RETURN_IF_ERROR(Add(name + "weight", hidden_));
        BANYAN_RETURN_IF_ERROR(AddBias(name + "bias"));
      }
      if (own_matrices_)
        BANYAN_RETURN_IF_ERROR(
            Add(absl::StrCat(head, ".", blocks_, ".weight"), vocab_));
    }
    for (const auto& [name, tensor] : file_.tensors())
      if (names_.count(name) == 0)
        return Error(name,
                     absl::StrCat("is not one of ", heads_, " Medusa heads of ",
                                  blocks_, " blocks"));
    return std::move(tensors_);
  }

  int heads() const { return heads_; }
  int blocks() const { return blocks_; }
  bool own_matrices() const { return own_matrices_; }

 private:
  absl::Status Error(absl::string_view name, absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(file_.path(), ": tensor ", QuotedName(name), ": ", what));
  }

  absl::Status Count() {
    for (const auto& [name, tensor] : file_.tensors()) {
      const int head = HeadOf(name);
      if (head < 0)
        return Error(name,
                     "expected the name of a Medusa head's tensor, such "
                     "as 0.0.linear.weight");
      heads_ = std::max(heads_, head + 1);
    }
    if (heads_ == 0)
      return absl::InvalidArgumentError(
          absl::StrCat(file_.path(), ": there are no heads"));
    while (file_.Find(absl::StrCat("0.", blocks_, ".linear.weight")) != nullptr)
      ++blocks_;
    own_matrices_ =
        file_.Find(absl::StrCat("0.", blocks_, ".weight")) != nullptr;
    if (blocks_ > 0) return absl::OkStatus();
    return Error("0.0.linear.weight", "is missing");
  }

  absl::Status Find(const std::string& name, const WeightSource& source,
                    StoredTensor& out) {
    const StoredTensor* tensor = file_.Find(name);
    if (tensor == nullptr) return Error(name, "is missing");
    const absl::Status status = CheckStored(*tensor, source);
    if (!status.ok()) return Error(name, status.message());
    names_.insert(name);
    out = *tensor;
    return absl::OkStatus();
  }

  // New rows are zero, new columns noise.
  absl::Status Add(const std::string& name, const Axis& rows) {
    StoredTensor old;
    BANYAN_RETURN_IF_ERROR(
        Find(name, {.stored_shape = {rows.old_size, hidden_.old_size}}, old));
    tensors_.push_back({.name = name,
                        .dtype = old.dtype,
                        .old = old,
                        .rows = rows,
                        .columns = hidden_,
                        .new_columns = Fill::kNoise});
    return absl::OkStatus();
  }

  absl::Status AddBias(const std::string& name) {
    StoredTensor old;
    BANYAN_RETURN_IF_ERROR(
        Find(name, {.stored_shape = {hidden_.old_size}}, old));
    tensors_.push_back({.name = name,
                        .dtype = old.dtype,
                        .old = old,
                        .rows = hidden_,
                        .columns = Axis::First(1, 1),
                        .is_vector = true});
    return absl::OkStatus();
  }

  const Safetensors& file_;
  const Axis vocab_, hidden_;
  int heads_ = 0;
  int blocks_ = 0;
  bool own_matrices_ = false;
  std::set<std::string> names_;
  std::vector<GrownTensor> tensors_;
};

}  // namespace

absl::StatusOr<GrownHeads> GrowHeads(const std::string& from,
                                     const HeadsGrowth& growth,
                                     const WriteOptions& options,
                                     OutputFolder& folder) {
  BANYAN_ASSIGN_OR_RETURN(Json config,
                          ReadConfig(absl::StrCat(from, "/config.json")));
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<Safetensors> file,
                          OpenWeights(from));
  HeadsPlanner planner(*file, growth);
  BANYAN_ASSIGN_OR_RETURN(const std::vector<GrownTensor> tensors,
                          planner.Plan());
  const GrownHeads grown = {.heads = planner.heads(),
                            .blocks = planner.blocks(),
                            .own_matrices = planner.own_matrices(),
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
