#include "tests/support/made/golden_model.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/checkpoint/tensor_file.h"

namespace banyan {
namespace {

template <typename T>
std::vector<double> Numbers(const StoredTensor& tensor) {
  std::vector<double> numbers(tensor.data.size() / sizeof(T));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    T number;
    std::memcpy(&number, tensor.data.data() + i * sizeof(T), sizeof(T));
    numbers[i] = static_cast<double>(number);
  }
  return numbers;
}

std::vector<std::vector<double>> Cut(const std::vector<double>& numbers,
                                     std::int64_t columns) {
  std::vector<std::vector<double>> rows;
  for (auto at = numbers.begin(); at != numbers.end(); at += columns)
    rows.emplace_back(at, at + columns);
  return rows;
}

std::unique_ptr<TensorFile> OpenTensors(const std::string& path) {
  auto file = TensorFile::Open(path);
  Check(file.ok(), std::string(file.status().message()).c_str());
  return *std::move(file);
}

const StoredTensor& Find(const TensorFile& file, const std::string& name) {
  const StoredTensor* found = file.Find(name);
  Check(found != nullptr, name.c_str());
  return *found;
}

std::vector<TokenId> Ids(const StoredTensor& tensor) {
  std::vector<TokenId> ids;
  for (double id : Numbers<std::int64_t>(tensor))
    ids.push_back(static_cast<TokenId>(id));
  return ids;
}

}  // namespace

const std::vector<std::string>& GoldenNames() {
  static const std::vector<std::string> names = {
      "gpt2",         "llama",   "llama_biased", "llama_linear",
      "llama_llama3", "mistral", "qwen2",        "qwen3"};
  return names;
}

std::string GoldenFolder(const std::string& name) {
  return "tests/goldens/checkpoints/" + name;
}

GoldenNumbers ReadGoldenLogits(const std::string& path) {
  const auto file = OpenTensors(path);
  const std::int64_t vocab = Find(*file, "logits32").shape[1];
  return {.ids = Ids(Find(*file, "ids")),
          .logits32 = Cut(Numbers<float>(Find(*file, "logits32")), vocab),
          .logits64 = Cut(Numbers<double>(Find(*file, "logits64")), vocab)};
}

GoldenNumbers ReadGolden(const std::string& name) {
  const std::string path = GoldenFolder(name) + "/logits.safetensors";
  GoldenNumbers golden = ReadGoldenLogits(path);
  const auto file = OpenTensors(path);
  const StoredTensor& hidden = Find(*file, "hidden64");
  const std::int64_t size = hidden.shape[2];
  for (const auto& place : Cut(Numbers<double>(hidden), hidden.shape[1] * size))
    golden.hidden64.push_back(Cut(place, size));
  return golden;
}

std::vector<ShippedGolden> ReadShippedGoldens(const std::string& name) {
  const auto file =
      OpenTensors("tests/goldens/shipped/" + name + ".safetensors");
  std::vector<ShippedGolden> goldens;
  for (int i = 0; file->Find(absl::StrCat("ids.", i)) != nullptr; ++i) {
    const std::string kind =
        file->Find("heads.0") != nullptr ? "heads." : "logits.";
    const StoredTensor& rows = Find(*file, absl::StrCat(kind, i));
    goldens.push_back({Ids(Find(*file, absl::StrCat("ids.", i))),
                       Cut(Numbers<float>(rows), rows.shape[1])});
  }
  return goldens;
}

std::unique_ptr<Transformer> LoadGolden(const std::string& name,
                                        std::shared_ptr<Backend> backend,
                                        WeightFormat format) {
  return LoadModel(GoldenFolder(name), std::move(backend), format);
}

std::unique_ptr<Transformer> LoadModel(const std::string& directory,
                                       std::shared_ptr<Backend> backend,
                                       WeightFormat format) {
  const auto checkpoint = Checkpoint::Open(directory);
  Check(checkpoint.ok(), std::string(checkpoint.status().message()).c_str());
  auto model =
      Transformer::Load(**checkpoint, {.format = format}, std::move(backend));
  Check(model.ok(), std::string(model.status().message()).c_str());
  return *std::move(model);
}

TokenBatch ChainAfter(const Session& session,
                      const std::vector<TokenId>& tokens) {
  TokenBatch batch;
  for (TokenId token : tokens) {
    const int row = batch.size();
    batch.parents.push_back(row == 0 ? TokenBatch::kCommitted
                                     : session.pending() + row - 1);
    batch.positions.push_back(session.length() + row);
    batch.tokens.push_back(token);
  }
  return batch;
}

}  // namespace banyan
