#include "core/checkpoint/checkpoint.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/stored_tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/checkpoint/files.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

void WriteSmall(const TestFolder& folder, const MadeTensors& tensors) {
  folder.Write("config.json", SmallConfig());
  folder.Write("model.safetensors", SafetensorsFile(tensors));
}

absl::StatusOr<std::unique_ptr<Checkpoint>> OpenSmall(
    const MadeTensors& tensors) {
  const TestFolder folder;
  WriteSmall(folder, tensors);
  return Checkpoint::Open(folder.path());  // what is mapped stays
}

std::string Refusal(const MadeTensors& tensors) {
  const auto opened = OpenSmall(tensors);
  if (opened.ok()) return "it was opened";
  EXPECT_TRUE(absl::IsInvalidArgument(opened.status()));
  return std::string(opened.status().message());
}

TEST(Checkpoint, GivesArchitectureAndRows) {
  const TestFolder folder;
  WriteSmall(folder, SmallTensors());
  const auto opened = Checkpoint::Open(folder.path());
  ASSERT_TRUE(opened.ok()) << opened.status();
  const Checkpoint& checkpoint = **opened;
  EXPECT_EQ(checkpoint.directory(), folder.path());
  EXPECT_THAT(checkpoint.warnings(), IsEmpty());
  const Architecture& architecture = checkpoint.architecture();
  EXPECT_EQ(architecture.family, "llama");
  EXPECT_THAT(architecture.end_of_text, ElementsAre(2));
  // The embedding is numbered first, from 1 on.
  std::vector<float> rows(8);
  for (int time = 0; time < 2; ++time) {
    ASSERT_TRUE(
        checkpoint
            .ReadRows(architecture.embedding, {3, 2}, absl::MakeSpan(rows))
            .ok());
    EXPECT_THAT(rows, ElementsAre(13, 14, 15, 16, 17, 18, 19, 20));
    checkpoint.Release(architecture.embedding);
  }
  const auto tensor = checkpoint.Tensor(architecture.layers[0].key);
  ASSERT_TRUE(tensor.ok());
  EXPECT_THAT(tensor->shape, ElementsAre(2, 4));
  EXPECT_EQ(tensor->data.size(), 32u);
}

TEST(Checkpoint, GivesSourcesBeyondTheArchitecture) {
  MadeTensors tensors = SmallTensors();
  tensors["extra.weight"] = {"F32", {1, 2}, Stored({5, 6})};
  const auto opened = OpenSmall(tensors);
  ASSERT_TRUE(opened.ok()) << opened.status();
  const Checkpoint& checkpoint = **opened;
  std::vector<float> row(2);
  ASSERT_TRUE(
      checkpoint
          .ReadRows({"extra.weight", {1, 2}, 1, 2}, {0, 1}, absl::MakeSpan(row))
          .ok());
  EXPECT_THAT(row, ElementsAre(5, 6));
  const auto none = checkpoint.Tensor({"none", {1}, 1, 1});
  EXPECT_TRUE(absl::IsNotFound(none.status()));
  EXPECT_THAT(std::string(none.status().message()),
              HasSubstr("no tensor 'none'"));
  const auto other = checkpoint.Tensor({"extra.weight", {2, 1}, 2, 1});
  EXPECT_TRUE(absl::IsInvalidArgument(other.status()));
  EXPECT_THAT(std::string(other.status().message()),
              HasSubstr("/model.safetensors: tensor 'extra.weight': expected "
                        "shape [2, 1], found [1, 2]"));
  checkpoint.Release({"none", {1}, 1, 1});
}

TEST(Checkpoint, WarnsOfTensorsThatNothingReads) {
  MadeTensors tensors = SmallTensors();
  // What follows from config.json.
  tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = {
      "F32", {1}, Stored({1})};
  tensors["model.layers.1.self_attn.rotary_emb.inv_freq"] = {
      "F32", {1}, Stored({1})};
  tensors["h.0.attn.bias"] = {"U8", {2}, "ab"};
  tensors["h.0.attn.masked_bias"] = {"F32", {1}, Stored({1})};
  const TestFolder folder;
  const auto warnings = [&] {
    WriteSmall(folder, tensors);
    const auto opened = Checkpoint::Open(folder.path());
    EXPECT_TRUE(opened.ok()) << opened.status();
    return opened.ok() ? (*opened)->warnings() : std::vector<std::string>();
  };
  EXPECT_THAT(warnings(), IsEmpty());
  tensors["heads.0\\n.weight"] = {"F64", {1}, "01234567"};
  EXPECT_THAT(warnings(),
              ElementsAre(folder.path() +
                          ": 1 tensor is not read: 'heads.0\\n.weight'"));
  for (const char* name : {"model.layers.0.mlp.bias", "a", "b", "c", "d", "e"})
    tensors[name] = {"I8", {1}, "0"};
  EXPECT_THAT(warnings(),
              ElementsAre(folder.path() + ": 7 tensors are not read: 'a', 'b', "
                                          "'c', 'd', 'e' and 2 more"));
}

TEST(Checkpoint, RefusesTensorsOfLayersThatThereAreNot) {
  for (const char* name : {"model.layers.1.input_layernorm.weight",
                           "model.layers.12.x", "model.layers.1"}) {
    MadeTensors tensors = SmallTensors();
    tensors[name] = {"F32", {4}, Stored({1, 1, 1, 1})};
    EXPECT_THAT(Refusal(tensors),
                HasSubstr(absl::StrCat(": config.json has 1 layer, and the "
                                       "weights have '",
                                       name, "'")));
  }
}

TEST(Checkpoint, NamesTheWeightsThatAreMissing) {
  MadeTensors tensors = SmallTensors();
  tensors.erase("model.layers.0.mlp.up_proj.weight");
  EXPECT_THAT(Refusal(tensors), HasSubstr("1 of the weights missing: "
                                          "model.layers.0.mlp.up_proj.weight"));
  EXPECT_THAT(Refusal(tensors), Not(HasSubstr("tie")));
  tensors.erase("model.embed_tokens.weight");
  EXPECT_THAT(Refusal(tensors),
              HasSubstr("2 of the weights missing: model.embed_tokens.weight, "
                        "model.layers.0.mlp.up_proj.weight"));
  EXPECT_THAT(Refusal({}), HasSubstr("12 of the weights missing: "));
  EXPECT_THAT(Refusal({}), HasSubstr(" and 7 more"));
}

// A tied one in tests/core/transformer/files_agree_test.cc.
TEST(Checkpoint, AnUntiedHeadMustBeThere) {
  MadeTensors tensors = SmallTensors();
  tensors.erase("lm_head.weight");
  EXPECT_THAT(Refusal(tensors),
              HasSubstr("1 of the weights missing: lm_head.weight (config.json "
                        "does not tie the head to the embedding)"));
}

TEST(Checkpoint, RefusesEveryWeightOfAnotherShapeOrType) {
  for (const auto& [name, tensor] : SmallTensors()) {
    MadeTensors tensors = SmallTensors();
    tensors[name].shape.push_back(1);
    EXPECT_THAT(Refusal(tensors), HasSubstr("/model.safetensors: tensor '" +
                                            name + "': expected shape ["));
    tensors = SmallTensors();
    tensors[name].dtype = "I32";
    EXPECT_THAT(Refusal(tensors),
                HasSubstr("tensor '" + name +
                          "': expected F32, F16 or BF16, found I32"));
  }
  MadeTensors tensors = SmallTensors();
  MadeTensor& norm = tensors["model.norm.weight"];
  norm.dtype = "F8_E4M3";
  norm.data = "0123";
  EXPECT_THAT(Refusal(tensors), HasSubstr("found F8_E4M3"));
  norm.dtype = "BF16";
  norm.data = "01234567";
  EXPECT_TRUE(OpenSmall(tensors).ok());
}

TEST(Checkpoint, SaysAtOnceWhatIsWrongWithTensors) {
  MadeTensors tensors = SmallTensors();
  tensors.at("lm_head.weight").dtype = "I32";
  tensors.at("model.norm.weight").shape.push_back(1);
  tensors.erase("model.embed_tokens.weight");
  tensors["model.layers.1.x"] = tensors.at("model.norm.weight");
  EXPECT_THAT(Refusal(tensors),
              AllOf(HasSubstr("'lm_head.weight': expected F32"),
                    HasSubstr("'model.norm.weight': expected shape"),
                    HasSubstr("1 of the weights missing: model.embed_tokens"),
                    HasSubstr("has 1 layer, and the weights have")));
  for (auto& [name, tensor] : tensors = SmallTensors())
    tensor.shape.push_back(1);
  EXPECT_THAT(Refusal(tensors),
              HasSubstr(": 7 more of the weights are of another shape"));
}

TEST(Checkpoint, TheGenerationConfigHasTheLastWordOnEnds) {
  const TestFolder folder;
  WriteSmall(folder, SmallTensors());
  folder.Write("generation_config.json",
               R"({"eos_token_id": [3, 4], "bos_token_id": 1})");
  const auto opened = Checkpoint::Open(folder.path());
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_THAT((*opened)->architecture().end_of_text, ElementsAre(3, 4));
  EXPECT_EQ((*opened)->architecture().begin_of_text, 1);
  folder.Write("generation_config.json", R"({"eos_token_id": null})");
  EXPECT_THAT((*Checkpoint::Open(folder.path()))->architecture().end_of_text,
              ElementsAre(2));
  folder.Write("generation_config.json", R"({"eos_token_id": 5})");
  EXPECT_THAT(std::string(Checkpoint::Open(folder.path()).status().message()),
              HasSubstr("/generation_config.json: eos_token_id: expected token "
                        "ids below 5, found 5"));
  folder.Write("generation_config.json", "x");
  EXPECT_THAT(std::string(Checkpoint::Open(folder.path()).status().message()),
              HasSubstr("/generation_config.json:1:1: not valid JSON: "));
}

TEST(Checkpoint, RefusesADirectoryWithoutAModel) {
  const TestFolder folder;
  const auto open = [&folder] {
    const absl::Status status = Checkpoint::Open(folder.path()).status();
    return std::make_pair(status.code(), std::string(status.message()));
  };
  EXPECT_EQ(open(), std::make_pair(absl::StatusCode::kNotFound,
                                   folder.path() + "/config.json: No such file "
                                                   "or directory"));
  folder.Write("config.json", SmallConfig());
  EXPECT_EQ(open(),
            std::make_pair(absl::StatusCode::kNotFound,
                           folder.path() + ": expected model.safetensors or "
                                           "model.safetensors.index.json"));
  folder.Write("model.safetensors", "");
  EXPECT_THAT(open().second,
              HasSubstr("/model.safetensors: expected at least"));
  folder.Write("model.safetensors", SafetensorsFile(SmallTensors()));
  folder.Write("config.json", "{\"model_type\": \"bert\"}");
  EXPECT_THAT(open().second,
              HasSubstr("/config.json: model_type: unknown family 'bert'"));
}

}  // namespace
}  // namespace banyan
