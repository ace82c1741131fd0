#include "tests/experiments/makers/packing.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <utility>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/checkpoint/checkpoint.h"
#include "core/transformer/weight_stream.h"
#include "tests/experiments/makers/growing.h"
#include "tests/support/made/golden_model.h"

namespace banyan {

std::shared_ptr<Backend> Cpu(const DeviceOptions& options) {
  absl::StatusOr<std::shared_ptr<Backend>> backend = OpenDevice("cpu", options);
  EXPECT_TRUE(backend.ok()) << backend.status();
  return *std::move(backend);
}

absl::StatusOr<PackedModel> PackTo(const std::string& model,
                                   const PackOptions& options,
                                   const std::string& path) {
  return PackModel(*MustOpen(model), options, path,
                   [](std::int64_t, std::int64_t) {});
}

Packed::Packed(const std::string& model, WeightFormat format) {
  const bool is_folder = std::filesystem::is_directory(model);
  const absl::StatusOr<PackedModel> done =
      PackTo(is_folder ? model : GoldenFolder(model),
             {.format = format, .source = "a name"}, path());
  EXPECT_TRUE(done.ok()) << done.status();
}

absl::StatusOr<std::unique_ptr<Transformer>> Load(
    const std::string& path, const TransformerOptions& options,
    std::shared_ptr<Backend> backend) {
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<Checkpoint> checkpoint,
                          Checkpoint::Open(path));
  return Transformer::Load(*checkpoint, options, std::move(backend));
}

absl::StatusOr<std::vector<std::vector<double>>> LogitsOfTexts(
    const Model& model) {
  std::vector<std::vector<double>> all;
  const std::unique_ptr<Session> session = model.NewSession();
  for (const std::vector<TokenId>& tokens :
       {std::vector<TokenId>{1, 5, 2, 7, 3}, {4}, {6, 1, 2}}) {
    BANYAN_ASSIGN_OR_RETURN(
        const std::unique_ptr<Scores> scores,
        ScoreOne(model, *session, ChainAfter(*session, tokens)));
    for (int row = 0; row < static_cast<int>(tokens.size()); ++row)
      BANYAN_RETURN_IF_ERROR(scores->Read(row, all.emplace_back()));
  }
  return all;
}

std::size_t LeastMemory(const std::string& path) {
  return WeightStream::LeastMemory(*MustOpen(path));
}

}  // namespace banyan
