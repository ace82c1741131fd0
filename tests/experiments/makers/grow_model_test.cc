// A grown model computes what it is grown from: every family that can grow.
#include "experiments/makers/grow/grow_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/number_rows.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/cpu/cpu_backend.h"
#include "core/ops/weight.h"
#include "core/transformer/transformer.h"
#include "experiments/makers/grow/model_size.h"
#include "experiments/makers/grow/output_folder.h"
#include "nlohmann/json.hpp"
#include "tests/core/transformer/made_model.h"
#include "tests/core/transformer/walk.h"
#include "tests/experiments/makers/growing.h"
#include "tests/support/dice.h"
#include "tests/support/host_part.h"
#include "tests/support/made/edited_model.h"
#include "tests/support/made/golden_model.h"
#include "tests/support/must_read.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<Backend> Cpu() { return Backends().front(); }

// The folder of a golden, or of MadeModel.
std::string FolderOf(const std::string& name) {
  static const MadeModel made({});
  return name == "made" ? made.path() : GoldenFolder(name);
}

// Every size larger, and no two by the same factor but the two of hidden and
// heads: `factor` times as wide, three layers and two key heads more, and five
// query heads more for each key head.
SizeWish Larger(const std::string& name, int factor) {
  const ModelSize own = SizeOf(MustOpen(FolderOf(name))->architecture());
  ModelSize size = {.hidden = own.hidden * factor,
                    .layers = own.layers + 3,
                    .kv_heads = own.kv_heads + 2,
                    .feed_forward = own.feed_forward + 37};
  size.heads = size.kv_heads * (own.heads / own.kv_heads + 5);
  return {.sizes = size};
}

// The logits of every token of a text, and its hidden states at every tap that
// the model grown from has.
struct Numbers {
  std::vector<Logits> logits;
  std::vector<std::vector<float>> hidden;  // by tap and row
};

Numbers Compute(const Transformer& model, const std::vector<TokenId>& text,
                int layers) {
  const auto session = model.NewSession();
  const TokenBatch batch = ChainAfter(*session, text);
  ScoreRequest request = {session.get(), &batch, {kAfterFinalNorm}};
  for (int tap = 0; tap <= layers; ++tap) request.taps.push_back(tap);
  const auto scores = model.Score({&request, 1});
  Check(scores.ok(), scores.status().message());
  Numbers numbers;
  for (int row = 0; row < batch.size(); ++row)
    numbers.logits.push_back(MustRead(*scores->front(), row));
  for (std::size_t tap = 0; tap < request.taps.size(); ++tap)
    for (int row = 0; row < batch.size(); ++row)
      numbers.hidden.push_back(MustReadHidden(
          *scores->front(), static_cast<int>(tap), row, model.hidden_size()));
  return numbers;
}

std::vector<std::vector<TokenId>> Texts(const Model& model) {
  Dice dice(7);
  return {{1}, RandomText(model, 9, dice), RandomText(model, 40, dice)};
}

double Largest(const std::vector<Logits>& rows) {
  double largest = 0;
  for (const Logits& row : rows)
    for (double logit : row) largest = std::max(largest, std::fabs(logit));
  return largest;
}

// NaN if there is one.
double Difference(const std::vector<Logits>& a, const std::vector<Logits>& b) {
  double largest = 0;
  for (std::size_t row = 0; row < a.size(); ++row)
    for (std::size_t i = 0; i < a[row].size(); ++i) {
      const double difference = std::fabs(a[row][i] - b[row][i]);
      if (!(difference <= largest)) largest = difference;
    }
  return largest;
}

class Growth : public testing::TestWithParam<GoldenOnDevice> {
 protected:
  void SetUp() override {
    if (GetParam().LeftOut()) GTEST_SKIP() << kHostLeftOut;
  }
  std::string Folder() const { return FolderOf(GetParam().golden); }
  SizeWish Wish(int factor) const { return Larger(GetParam().golden, factor); }
  std::unique_ptr<Transformer> Load(
      const std::string& folder,
      WeightFormat format = WeightFormat::kF32) const {
    return MustLoad(folder, backend_, format);
  }
  // Other devices than the cpu, which take one short text.
  bool Slow() const { return GetParam().device != "cpu"; }
  bool Rounds() const { return backend_->facts().rounds_to_bf16; }
  std::vector<std::vector<TokenId>> Some(
      const std::vector<std::vector<TokenId>>& texts) const {
    return Slow() ? std::vector<std::vector<TokenId>>{texts[1]} : texts;
  }

  std::shared_ptr<Backend> backend_ = BackendOf(GetParam().device);
};

void ExpectEveryBit(const Transformer& before, const Transformer& after,
                    const std::vector<std::vector<TokenId>>& texts) {
  for (const std::vector<TokenId>& text : texts) {
    const Numbers expected = Compute(before, text, before.layers());
    const Numbers got = Compute(after, text, before.layers());
    for (std::size_t row = 0; row < text.size(); ++row)
      ASSERT_TRUE(SameBits(got.logits[row], expected.logits[row])) << row;
    for (std::size_t i = 0; i < expected.hidden.size(); ++i) {
      std::vector<float> padded = expected.hidden[i];
      padded.resize(got.hidden[i].size());
      ASSERT_EQ(got.hidden[i], padded) << i;
    }
  }
}

// Where the order of a sum is the columns', whatever their number. GPUs'
// kernels cut the columns into stretches by their number, and tile registers
// into blocks.
class GrowthOnTheCpu : public Growth {
 protected:
  GrowthOnTheCpu() { backend_ = Cpu(); }
};

// At D = 4 d and 16 d every product and sum that counts is the same, or exactly
// half, and adding a zero changes no bit: sums have one order, that of the
// columns, and old columns keep theirs (op_args.h, weight.h).
TEST_P(GrowthOnTheCpu, ToAPowerOfFourKeepsEveryBit) {
  for (int factor : {1, 4, 16}) {
    if (factor == 16 && Slow()) continue;
    SCOPED_TRACE(factor);
    const Grown grown(Folder(), Wish(factor));
    for (WeightFormat format : {WeightFormat::kF32, WeightFormat::kBf16}) {
      const auto before = Load(Folder(), format);
      const auto after = Load(grown.path(), format);
      ASSERT_EQ(after->hidden_size(), factor * before->hidden_size());
      ExpectEveryBit(*before, *after, Some(Texts(*before)));
    }
  }
}

// SmolLM2's shape in small: thirty layers, and groups of three queries that
// become groups of eight on one key head more.
TEST(GrowthOfADeepModel, ToAPowerOfFourKeepsEveryBit) {
  MadeModelOptions options = {.heads = 9, .kv_heads = 3};
  options.layers.resize(30);
  std::iota(options.layers.begin(), options.layers.end(), 0);
  const MadeModel made(options);
  const Grown grown(made.path(), {.sizes = {.hidden = 4 * 9 * 16,
                                            .heads = 32,
                                            .kv_heads = 4,
                                            .feed_forward = 4 * 136}});
  EXPECT_EQ(30, grown.report().after.layers);
  for (WeightFormat format : {WeightFormat::kF32, WeightFormat::kBf16}) {
    const auto before = MustLoad(made.path(), Cpu(), format);
    const auto after = MustLoad(grown.path(), Cpu(), format);
    ExpectEveryBit(*before, *after, {Texts(*before)[1]});
  }
}

// Elsewhere each of the two is as far from the function that both round as the
// golden tests allow, 150 * 2^-24 times the largest logit
// (tests/core/transformer/transformer_golden_test.cc). Seen are up to 27 such
// units. Where numbers are rounded to bfloat16, what differs by a rounding may
// be rounded the other way, by 2^-8 of it: seen are up to a third of that of
// the largest logit, which is allowed in full, also at four times the size.
TEST_P(Growth, ToAnyOtherSizeChangesRoundingsOnly) {
  double most = 0;
  for (int factor : {2, 3, 4}) {
    if (factor == 4 && !Rounds()) continue;
    const Grown grown(Folder(), Wish(factor));
    const auto before = Load(Folder());
    const auto after = Load(grown.path());
    for (const std::vector<TokenId>& text : Some(Texts(*before))) {
      const Numbers expected = Compute(*before, text, 0);
      const Numbers got = Compute(*after, text, 0);
      const double unit = std::ldexp(Largest(expected.logits), -24);
      const double units = Difference(got.logits, expected.logits) / unit;
      EXPECT_LE(units, Rounds() ? 0x1p16 : 2 * 150) << factor;
      most = std::max(most, units);
    }
  }
  RecordProperty("units", std::to_string(most));  // in the XML output
}

TEST_P(Growth, SaysTheSameGreedily) {
  const auto before = Load(Folder());
  // What is slow computes each text anew for every token of it.
  const std::size_t tokens = Slow() ? 8 : 40;
  for (int factor : {2, 3, 4}) {
    if (factor != 3 && Slow()) continue;
    const Grown grown(Folder(), Wish(factor));
    const auto after = Load(grown.path());
    std::vector<std::vector<TokenId>> texts;
    for (const Transformer* model : {before.get(), after.get()}) {
      std::vector<TokenId> text = {1, 5};
      while (text.size() < tokens) {
        const Logits last = Compute(*model, text, 0).logits.back();
        text.push_back(static_cast<TokenId>(
            std::max_element(last.begin(), last.end()) - last.begin()));
      }
      texts.push_back(text);
    }
    EXPECT_EQ(texts[0], texts[1]) << factor;
  }
}

// What may be noise is noise, and changes nothing.
TEST_P(Growth, DoesNotHangOnTheSeed) {
  const SizeWish wish = Wish(2);
  const Grown zero(Folder(), wish);
  const Grown again(Folder(), wish);
  const Grown one(Folder(), wish, {.seed = 1});
  EXPECT_EQ(zero.Read("model.safetensors"), again.Read("model.safetensors"));
  EXPECT_NE(zero.Read("model.safetensors"), one.Read("model.safetensors"));
  const auto first = Load(zero.path());
  const auto second = Load(one.path());
  for (const std::vector<TokenId>& text : Some(Texts(*first))) {
    const Numbers expected = Compute(*first, text, 0);
    const Numbers got = Compute(*second, text, 0);
    for (std::size_t row = 0; row < text.size(); ++row)
      EXPECT_TRUE(SameBits(got.logits[row], expected.logits[row]));
  }
}

TEST_P(Growth, LendsNoViewWithoutAnInertLayer) {
  const Grown grown(Folder(), Wish(2));
  const auto model = Load(grown.path());
  const auto session = model->NewSession();
  std::vector<int> layers(static_cast<std::size_t>(model->layers()));
  std::iota(layers.begin(), layers.end(), 0);
  EXPECT_TRUE(session->View(ViewOptions::Layers(layers)).ok());
  const auto all = session->View(ViewOptions::Layers(layers));
  ASSERT_TRUE(all.ok());
  layers.pop_back();
  for (Session* from : {session.get(), all->get()}) {
    const absl::Status status =
        from->View(ViewOptions::Layers(layers)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(
        std::string(status.message()),
        HasSubstr("layer " + std::to_string(layers.size()) + " is inert"));
  }
  EXPECT_FALSE(session->View(ViewOptions()).ok());
  // Wider only: no layer is inert.
  SizeWish wish = Wish(2);
  wish.sizes.layers = 0;
  const Grown wider(Folder(), wish);
  const auto other = Load(wider.path());
  EXPECT_EQ(other->grown_from(), model->grown_from());
  EXPECT_TRUE(other->NewSession()->View(ViewOptions::Layers({0})).ok());
}

// All but the family that cannot grow.
std::vector<GoldenOnDevice> Grows() {
  std::vector<GoldenOnDevice> all = GoldensOnDevices();
  std::erase_if(all,
                [](const GoldenOnDevice& one) { return one.golden == "gpt2"; });
  for (const std::string& device : DeviceNames())
    all.push_back({"made", device});
  return all;
}

std::vector<GoldenOnDevice> GrowOnTheCpu() {
  std::vector<GoldenOnDevice> all = Grows();
  std::erase_if(all, [](const GoldenOnDevice& one) {
    return one.device != "cpu" && one.device != "reference";
  });
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, Growth, testing::ValuesIn(Grows()),
                         [](const auto& row) { return row.param.ToText(); });
INSTANTIATE_TEST_SUITE_P(All, GrowthOnTheCpu, testing::ValuesIn(GrowOnTheCpu()),
                         [](const auto& row) { return row.param.ToText(); });

// All sizes multiples of 32, or kept: q8's blocks are the old ones.
TEST(Grow, KeepsEveryBitUnderQ8WhereBlocksDo) {
  const Grown grown(
      FolderOf("made"),
      {.sizes = {.hidden = 384, .layers = 3, .heads = 24, .kv_heads = 6}});
  const auto before = MustLoad(FolderOf("made"), Cpu(), WeightFormat::kQ8);
  const auto after = MustLoad(grown.path(), Cpu(), WeightFormat::kQ8);
  for (const std::vector<TokenId>& text : Texts(*before)) {
    const Numbers expected = Compute(*before, text, 0);
    const Numbers got = Compute(*after, text, 0);
    for (std::size_t row = 0; row < text.size(); ++row)
      ASSERT_TRUE(SameBits(got.logits[row], expected.logits[row])) << row;
  }
}

TEST(Grow, CutsALargeModelIntoShards) {
  const SizeWish wish = Larger("qwen3", 4);
  const Grown whole(FolderOf("qwen3"), wish);
  const Grown cut(FolderOf("qwen3"), wish, {.shard_bytes = 40000});
  const auto index =
      nlohmann::json::parse(cut.Read("model.safetensors.index.json"));
  EXPECT_EQ(index.at("metadata").at("total_size"), whole.report().bytes);
  EXPECT_FALSE(std::filesystem::exists(cut.path() + "/model.safetensors"));
  EXPECT_TRUE(
      std::filesystem::exists(cut.path() + "/model-00021-of-00021.safetensors"))
      << index.dump(1);
  const auto first = MustLoad(whole.path(), Cpu());
  const auto second = MustLoad(cut.path(), Cpu());
  for (const std::vector<TokenId>& text : Texts(*first))
    EXPECT_EQ(Compute(*first, text, 0).logits,
              Compute(*second, text, 0).logits);
}

// Neither would show in what is written.
TEST(Grow, RefusesATiedPairThatDisagreesAndNormsThatAreNotFinite) {
  const auto refusal = [](const EditedModel& model) {
    const auto checkpoint = MustOpen(model.path());
    const auto folder = OutputFolder::Make(model.path() + "/grown");
    Check(folder.ok(), folder.status().message());
    ModelSize size = SizeOf(checkpoint->architecture());
    size.hidden *= 2;
    return std::string(GrowModel(*checkpoint, size, {}, **folder,
                                 [](std::int64_t, std::int64_t) {})
                           .status()
                           .message());
  };
  EditedModel model(GoldenFolder("llama_biased"));
  MadeTensors& tensors = model.files().at("model.safetensors");
  const MadeTensor norm = tensors["model.norm.weight"];
  SetNumber(tensors["model.norm.weight"], 3, std::nanf(""));
  model.Write("model.safetensors");
  EXPECT_THAT(refusal(model), HasSubstr("'model.norm.weight': row 3, column 0: "
                                        "expected a finite number, found nan"));
  tensors["model.norm.weight"] = norm;
  MadeTensor& twin = tensors["lm_head.weight"] =
      tensors["model.embed_tokens.weight"];
  SetNumber(twin, 0, 2);
  model.Write("model.safetensors");
  EXPECT_THAT(refusal(model), HasSubstr("'lm_head.weight': row 0 is not that"));
}

TEST(Grow, KeepsTheKeysOfTheConfigAndItsCompanions) {
  const Grown grown(FolderOf("qwen2"), {.sizes = {.hidden = 80, .layers = 6}});
  const auto read = [](const std::string& text) {
    return nlohmann::json::parse(text);
  };
  nlohmann::json expected;
  std::ifstream(FolderOf("qwen2") + "/config.json") >> expected;
  const nlohmann::json got = read(grown.Read("config.json"));
  expected["hidden_size"] = 80;
  expected["num_hidden_layers"] = 6;
  expected["head_dim"] = 4;
  expected["rms_norm_eps"] = 1e-5 / 4;
  expected["layer_types"] = {"full_attention",    "sliding_attention",
                             "sliding_attention", "sliding_attention",
                             "sliding_attention", "sliding_attention"};
  expected["inert_layers"] = {3, 4, 5};
  expected["grown_from"] = got.at("grown_from");
  EXPECT_EQ(got, expected);
  const nlohmann::json& origin = got.at("grown_from");
  EXPECT_EQ(origin.at("name"), "qwen2");
  EXPECT_EQ(origin.at("hidden_size"), 20);
  EXPECT_EQ(origin.at("num_hidden_layers"), 3);
  EXPECT_EQ(origin.at("num_attention_heads"), 5);
  EXPECT_EQ(origin.at("num_key_value_heads"), 1);
  EXPECT_EQ(origin.at("intermediate_size"), 28);
  EXPECT_EQ(origin.at("weights_fnv1a").get<std::string>().size(), 16u);
  nlohmann::json generation;
  std::ifstream(FolderOf("qwen2") + "/generation_config.json") >> generation;
  EXPECT_EQ(read(grown.Read("generation_config.json")), generation);
  const auto checkpoint = MustOpen(grown.path());
  EXPECT_EQ(checkpoint->architecture().grown_from, "qwen2");
  EXPECT_THAT(checkpoint->architecture().inert_layers, ElementsAre(3, 4, 5));
}

// BF16 stays BF16 where halving is exact; F16 has too few exponents.
TEST(Grow, StoresScaledNormsAsF32WhereTheyNeedIt) {
  const auto types = [](const std::string& name, int factor) {
    const Grown grown(FolderOf(name), Larger(name, factor));
    const auto checkpoint = MustOpen(grown.path());
    const LayerSources& layer = checkpoint->architecture().layers.back();
    std::vector<std::string> found;
    for (const WeightSource* source :
         {&layer.attention_norm, &layer.query, &layer.query_norm})
      if (source->present())
        found.emplace_back(DTypeName(checkpoint->Tensor(*source)->dtype));
    return found;
  };
  EXPECT_THAT(types("llama", 4), ElementsAre("BF16", "BF16"));
  EXPECT_THAT(types("llama", 2), ElementsAre("F32", "BF16"));
  EXPECT_THAT(types("llama_biased", 4), ElementsAre("F32", "F32"));
  EXPECT_THAT(types("qwen3", 4), ElementsAre("F32", "F16", "F16"));
  EXPECT_THAT(types("qwen3", 1), ElementsAre("F16", "F16", "F16"));
}

}  // namespace
}  // namespace banyan
