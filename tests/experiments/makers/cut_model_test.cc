// Tests of models whose files are cut short after they were opened: whatever is
// made of them ends with an error that names the file. Without a guard the
// system ends the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/checkpoint.h"
#include "core/transformer/transformer.h"
#include "experiments/makers/convert_model.h"
#include "experiments/makers/grow/model_size.h"
#include "experiments/makers/grow/output_folder.h"
#include "experiments/makers/grow/tensor_plan.h"
#include "experiments/makers/pack_model.h"
#include "tests/core/checkpoint/files.h"
#include "tests/experiments/makers/growing.h"
#include "tests/experiments/makers/packing.h"
#include "tests/support/made/golden_model.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;

namespace fs = std::filesystem;

using Use = std::function<absl::Status(const Checkpoint&)>;

absl::Status LoadAs(const Checkpoint& checkpoint, WeightFormat format) {
  return Transformer::Load(checkpoint, {.format = format}, Cpu()).status();
}

// The last tensor that is read: the others may be whole.
absl::Status ReadLast(const Checkpoint& checkpoint) {
  absl::Status last;
  ForEachSource(checkpoint.architecture(), [&](const WeightSource& source) {
    std::vector<float> row(static_cast<std::size_t>(source.columns));
    last =
        checkpoint.ReadRows(source, {source.rows - 1, 1}, absl::MakeSpan(row));
  });
  return last;
}

absl::Status PackIt(const Checkpoint& checkpoint) {
  const TestFolder folder;
  return PackModel(checkpoint, {}, folder.path() + "/other.pack",
                   [](std::int64_t, std::int64_t) {})
      .status();
}

absl::Status ConvertIt(const Checkpoint& checkpoint) {
  const TestFolder folder;
  const auto out = OutputFolder::Make(folder.path() + "/out");
  if (!out.ok()) return out.status();
  return ConvertModel(checkpoint, std::nullopt, **out,
                      [](std::int64_t, std::int64_t) {})
      .status();
}

// Opens a model, cuts its file down to few or many bytes, and uses the model.
void ExpectTold(const std::string& model, const std::string& file,
                const Use& use, const std::string& what) {
  const std::uintmax_t size = fs::file_size(file);
  for (const std::uintmax_t left : {std::uintmax_t{0}, std::uintmax_t{1},
                                    size / 3, size - 4097, size - 1}) {
    const TestFolder folder;
    const std::string copy = folder.path() + "/copy";
    fs::copy_file(file, copy);
    const std::unique_ptr<Checkpoint> checkpoint = MustOpen(model);
    fs::resize_file(file, left);
    const absl::Status told = use(*checkpoint);
    EXPECT_FALSE(told.ok()) << what << ", " << left << " bytes left";
    EXPECT_THAT(std::string(told.message()), HasSubstr(file))
        << what << ", " << left << " bytes left";
    // In place, as the mapping's file.
    fs::resize_file(file, 0);
    fs::copy_file(copy, file, fs::copy_options::overwrite_existing);
  }
}

struct Named {
  std::string name;
  Use use;
};

std::vector<Named> Uses() {
  return {
      {"f32",
       [](const Checkpoint& it) { return LoadAs(it, WeightFormat::kF32); }},
      {"bf16",
       [](const Checkpoint& it) { return LoadAs(it, WeightFormat::kBf16); }},
      {"q8",
       [](const Checkpoint& it) { return LoadAs(it, WeightFormat::kQ8); }},
      {"the last row", ReadLast}};
}

TEST(CutModel, IsToldOfAGgufFile) {
  const TestFolder folder;
  const std::string file = folder.path() + "/model.gguf";
  fs::copy_file("tests/goldens/gguf/llama.gguf", file);
  for (const Named& each : Uses()) ExpectTold(file, file, each.use, each.name);
  ExpectTold(file, file, PackIt, "pack");
  ExpectTold(file, file, ConvertIt, "convert");
}

TEST(CutModel, IsToldOfADirectory) {
  const TestFolder folder;
  const std::string model = folder.path() + "/model";
  fs::copy(GoldenFolder("llama"), model);
  const std::string file = model + "/model.safetensors";
  for (const Named& each : Uses()) ExpectTold(model, file, each.use, each.name);
  ExpectTold(model, file, PackIt, "pack");
  ExpectTold(model, file, ConvertIt, "convert");
}

TEST(CutModel, IsToldOfAPackedModel) {
  const Packed packed("llama", WeightFormat::kBf16);
  for (const Named& each : Uses())
    ExpectTold(packed.path(), packed.path(), each.use, each.name);
}

// Its tensors were read when they were planned.
TEST(CutModel, IsToldWhileItGrows) {
  const TestFolder folder;
  const std::string model = folder.path() + "/model";
  fs::copy(GoldenFolder("llama"), model);
  const std::string file = model + "/model.safetensors";
  const std::unique_ptr<Checkpoint> checkpoint = MustOpen(model);
  ModelSize size = SizeOf(checkpoint->architecture());
  size.layers += 3;
  const auto tensors = PlanTensors(*checkpoint, size);
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  fs::resize_file(file, 1000);
  int told = 0;
  for (const GrownTensor& tensor : *tensors) {
    std::vector<std::byte> bytes(
        static_cast<std::size_t>(tensor.entry().bytes()));
    const absl::Status status =
        FillRows(tensor, 0, 0, tensor.rows.size, absl::MakeSpan(bytes));
    EXPECT_EQ(status.ok(), !tensor.old.has_value()) << tensor.name;
    if (status.ok()) continue;
    ++told;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(file), HasSubstr("it was cut short")));
  }
  EXPECT_GT(told, 10);
}

}  // namespace
}  // namespace banyan
