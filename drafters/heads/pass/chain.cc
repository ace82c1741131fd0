#include "drafters/heads/pass/chain.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/read_file.h"
#include "core/base/status_macros.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/config_reader.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/checkpoint/tensor_file.h"
#include "core/checkpoint/weight_rows.h"
#include "core/model/model.h"

namespace banyan {
namespace {

constexpr char kTensor[] = "lookahead.embeddings";
constexpr int kMostVectors = 1024;  // published are four
// A thousand times one of ours.
constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 17;

// How many vectors config.json says there are.
absl::StatusOr<int> ReadConfig(const std::string& path, const Model& target) {
  BANYAN_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxConfigBytes));
  BANYAN_ASSIGN_OR_RETURN(ConfigReader in, ConfigReader::Parse(text, path));
  const auto expect = [&in](absl::string_view key, int ours) {
    const int found = in.Size(key);
    if (in.status().ok() && found != ours)
      in.Unexpected(key, absl::StrCat(ours, ", as the target has"));
  };
  expect("hidden_size", target.hidden_size());
  expect("vocab_size", target.vocab_size());
  const int vectors = in.Size("lookahead_vectors", kMostVectors);
  BANYAN_RETURN_IF_ERROR(in.status());
  return vectors;
}

absl::StatusOr<std::vector<float>> ReadVectors(const std::string& path,
                                               int rows, int columns) {
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<TensorFile> file,
                          TensorFile::Open(path));
  const WeightSource source = {.tensor = kTensor,
                               .stored_shape = {rows, columns},
                               .rows = rows,
                               .columns = columns};
  const auto error = [&path](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": tensor '", kTensor, "': ", what));
  };
  const StoredTensor* tensor = file->Find(kTensor);
  if (tensor == nullptr) return error("is missing");
  const absl::Status stored = CheckStored(*tensor, source);
  if (!stored.ok()) return error(stored.message());
  std::vector<float> values(static_cast<std::size_t>(rows) *
                            static_cast<std::size_t>(columns));
  const absl::Status read =
      ReadRows(*tensor, source, {.count = rows}, values.data());
  if (absl::IsDataLoss(read)) return read;  // which names the file
  if (!read.ok()) return error(read.message());
  return values;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const LookaheadChain>> LoadLookaheadChain(
    const std::string& folder, const Model& target) {
  BANYAN_ASSIGN_OR_RETURN(
      const int count,
      ReadConfig(absl::StrCat(folder, "/config.json"), target));
  const int size = target.hidden_size();
  BANYAN_ASSIGN_OR_RETURN(
      const std::vector<float> values,
      ReadVectors(absl::StrCat(folder, "/model.safetensors"), count, size));
  auto chain = std::make_unique<LookaheadChain>();
  for (auto at = values.begin(); at != values.end(); at += size)
    chain->push_back(
        {.vector = std::make_shared<const std::vector<float>>(at, at + size)});
  return std::unique_ptr<const LookaheadChain>(std::move(chain));
}

}  // namespace banyan
