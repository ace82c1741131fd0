// Files that must say the same: the two names of a tied pair, and the layers of
// config.json and of the weights, in every family.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/checkpoint/checkpoint.h"
#include "core/model/model.h"
#include "core/ops/devices.h"
#include "core/transformer/transformer.h"
#include "nlohmann/json.hpp"
#include "tests/core/checkpoint/files.h"
#include "tests/support/made/edited_model.h"
#include "tests/support/made/golden_model.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kFile[] = "model.safetensors";
constexpr char kHead[] = "lm_head.weight";

using Logits = std::vector<double>;

// A golden in one file, its head tied.
class FilesAgree : public testing::TestWithParam<std::string> {
 protected:
  FilesAgree() {
    MadeTensors all;
    for (auto& [file, tensors] : model_.files()) all.merge(tensors);
    model_.files() = {{kFile, all}};
    std::filesystem::remove(model_.path() + "/model.safetensors.index.json");
    for (const auto& [name, tensor] : all)
      if (absl::EndsWith(name, "embed_tokens.weight") ||
          absl::EndsWith(name, "wte.weight"))
        embedding_ = name;
    tensors().erase(kHead);
    SetConfig("tie_word_embeddings", true);
  }

  MadeTensors& tensors() { return model_.files().at(kFile); }

  void SetConfig(const std::string& key, const nlohmann::json& value) {
    auto config = nlohmann::json::parse(model_.folder().Read("config.json"));
    config[key] = value;
    model_.folder().Write("config.json", config.dump());
  }

  // What the model says after a text.
  absl::StatusOr<Logits> Run() {
    model_.Write(kFile);
    BANYAN_ASSIGN_OR_RETURN(const auto checkpoint,
                            Checkpoint::Open(model_.path()));
    EXPECT_THAT(checkpoint->warnings(), IsEmpty());
    BANYAN_ASSIGN_OR_RETURN(const auto backend, OpenDevice("cpu"));
    BANYAN_ASSIGN_OR_RETURN(const auto model,
                            Transformer::Load(*checkpoint, {}, backend));
    const auto session = model->NewSession();
    BANYAN_ASSIGN_OR_RETURN(
        const auto scores,
        ScoreOne(*model, *session, ChainAfter(*session, {1, 5, 2})));
    Logits logits;
    BANYAN_RETURN_IF_ERROR(scores->Read(2, logits));
    return logits;
  }
  std::string Refusal() {
    const absl::Status status = Run().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }

  EditedModel model_{GoldenFolder(GetParam())};
  std::string embedding_;
};

TEST_P(FilesAgree, EitherNameOfATiedPairWillDo) {
  const absl::StatusOr<Logits> expected = Run();
  ASSERT_TRUE(expected.ok()) << expected.status();
  const MadeTensor table = tensors()[embedding_];
  tensors()[kHead] = table;
  EXPECT_EQ(Run().value(), *expected) << "both";
  tensors().erase(embedding_);
  EXPECT_EQ(Run().value(), *expected) << "the head's alone";
  tensors().erase(kHead);
  EXPECT_THAT(Refusal(), HasSubstr("1 of the weights missing: " + embedding_));
}

TEST_P(FilesAgree, ATiedPairMustSayTheSame) {
  const absl::StatusOr<Logits> expected = Run();
  MadeTensor& twin = tensors()[kHead] = tensors()[embedding_];
  SetNumber(twin, CountOf(twin) - 1, 2);
  EXPECT_EQ(Refusal(),
            absl::StrCat(model_.path(), "/", kFile, ": tensor '", kHead,
                         "': row ", twin.shape[0] - 1, " is not that of '",
                         embedding_, "', though config.json ties the two"));
  twin.shape = {twin.shape[1], twin.shape[0]};
  EXPECT_THAT(Refusal(), HasSubstr("'lm_head.weight': expected shape ["));
}

TEST_P(FilesAgree, LayersThatConfigDoesNotHaveAreRefused) {
  ASSERT_TRUE(Run().ok());
  const std::string key =
      GetParam() == "gpt2" ? "n_layer" : "num_hidden_layers";
  auto config = nlohmann::json::parse(model_.folder().Read("config.json"));
  const int fewer = config.at(key).get<int>() - 1;
  SetConfig(key, fewer);
  if (config.contains("layer_types")) SetConfig("layer_types", nullptr);
  EXPECT_THAT(Refusal(),
              AllOf(HasSubstr(absl::StrCat(model_.path(), ": config.json has ",
                                           Counted(fewer, "layer"),
                                           ", and the weights have '")),
                    HasSubstr(absl::StrCat(".", fewer, "."))));
}

INSTANTIATE_TEST_SUITE_P(Goldens, FilesAgree, testing::ValuesIn(GoldenNames()),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace banyan
