// Tests of packed models: what they compute is what the model computes, bit for
// bit, whatever part of them is in memory; damage and interruptions are told.
#include "experiments/makers/pack_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/checkpoint.h"
#include "core/gguf/gguf_file.h"
#include "core/model/model.h"
#include "core/ops/devices.h"
#include "core/ops/weight.h"
#include "core/pack/pack_file.h"
#include "core/transformer/transformer.h"
#include "core/transformer/weight_stream.h"
#include "core/transformer/weights.h"
#include "tests/core/checkpoint/files.h"
#include "tests/core/transformer/made_model.h"
#include "tests/experiments/makers/growing.h"
#include "tests/experiments/makers/packing.h"
#include "tests/support/few_bytes.h"
#include "tests/support/made/golden_model.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr WeightFormat kFormats[] = {WeightFormat::kF32, WeightFormat::kBf16,
                                     WeightFormat::kQ8};

std::vector<std::string> InstructionSets() {
  for (const DeviceRow& row : DeviceTable())
    if (row.name == "cpu") return row.instruction_sets();
  return {};
}

// By layer, whether it stays in memory.
std::vector<bool> Kept(const Transformer& model) {
  std::vector<bool> kept;
  for (int layer = 0; layer < model.layers(); ++layer)
    kept.push_back(
        model.network().stream()->KeepsLayer(static_cast<std::size_t>(layer)));
  return kept;
}

int CountKept(const Transformer& model) {
  const std::vector<bool> kept = Kept(model);
  return static_cast<int>(std::count(kept.begin(), kept.end(), true));
}

class EveryFamily : public testing::TestWithParam<std::string> {};

TEST_P(EveryFamily, ComputesTheSameFromAPackWhateverIsInMemory) {
  for (const WeightFormat format : kFormats) {
    const auto expected = LogitsOfTexts(*LoadGolden(GetParam(), Cpu(), format));
    ASSERT_TRUE(expected.ok());
    const Packed packed(GetParam(), format);
    const auto whole = Load(packed.path(), {.format = format});
    ASSERT_TRUE(whole.ok()) << whole.status();
    EXPECT_EQ(nullptr, (*whole)->network().stream());
    EXPECT_EQ(*expected, *LogitsOfTexts(**whole)) << Name(format);

    const std::size_t least = LeastMemory(packed.path());
    const std::size_t all =
        static_cast<std::size_t>(std::filesystem::file_size(packed.path()));
    int streamed = 0;
    for (std::size_t memory = least; memory < all;
         memory += (all - least) / 15) {
      const auto part =
          Load(packed.path(), {.format = format, .room = {.memory = memory}});
      ASSERT_TRUE(part.ok()) << part.status();
      EXPECT_EQ(*expected, *LogitsOfTexts(**part))
          << Name(format) << " in " << memory;
      streamed += (*part)->network().stream() != nullptr ? 1 : 0;
      if (memory == least) {
        ASSERT_NE(nullptr, (*part)->network().stream());
        EXPECT_EQ(0, CountKept(**part));
      }
    }
    EXPECT_GE(streamed, 1);
  }
}

TEST_P(EveryFamily, ComputesTheSameOnEveryInstructionSet) {
  const WeightFormat format = WeightFormat::kBf16;
  const Packed packed(GetParam(), format);
  const std::size_t least = LeastMemory(packed.path());
  int sets = 0;
  for (const std::string& set : InstructionSets()) {
    const DeviceOptions options = {.threads = 1 + sets % 2,
                                   .instruction_set = set};
    const auto expected =
        LogitsOfTexts(*LoadGolden(GetParam(), Cpu(options), format));
    const auto model =
        Load(packed.path(), {.format = format, .room = {.memory = least}},
             Cpu(options));
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(*expected, *LogitsOfTexts(**model)) << set;
    ++sets;
  }
  EXPECT_GE(sets, 2);
}

TEST_P(EveryFamily, OtherDevicesReadItWholeOrSayWhyNot) {
  for (const WeightFormat format : kFormats) {
    const Packed packed(GetParam(), format);
    for (const char* name : {"reference", "emulated_gpu"}) {
      const auto backend = OpenDevice(name, {});
      ASSERT_TRUE(backend.ok());
      const auto model = Load(packed.path(), {.format = format}, *backend);
      if (std::string(name) == "emulated_gpu" && IsQuantised(format)) {
        EXPECT_THAT(
            std::string(model.status().message()),
            HasSubstr(absl::StrCat("does not read packed ", Name(format))));
        continue;
      }
      ASSERT_TRUE(model.ok()) << model.status();
      EXPECT_EQ(*LogitsOfTexts(*LoadGolden(GetParam(), *backend, format)),
                *LogitsOfTexts(**model))
          << name << " " << Name(format);
      // And never in part.
      const absl::Status bounded =
          Load(packed.path(),
               {.format = format,
                .room = {.memory = LeastMemory(packed.path())}},
               *backend)
              .status();
      EXPECT_THAT(std::string(bounded.message()),
                  HasSubstr("has no bound on memory; expected the device cpu"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, EveryFamily,
                         testing::ValuesIn(GoldenNames()));

// Goldens' matrices have one extent; these have up to five, the last of fewer
// panels.
TEST(Pack, MatricesOfManyExtentsAreReadInOrder) {
  const MadeModel made({.heads = 36, .kv_heads = 12, .feed_forward = 2056});
  for (const WeightFormat format : kFormats) {
    const TestFolder folder;
    const std::string path = folder.path() + "/model.pack";
    ASSERT_TRUE(PackTo(made.path(), {.format = format}, path).ok());
    std::size_t most = 0;
    const absl::StatusOr<PackHeader> header = ReadPackHeader(path);
    ASSERT_TRUE(header.ok()) << header.status();
    for (const PackMatrix& matrix : header->matrices)
      most = std::max(most, matrix.extents());
    EXPECT_GE(most, 3U) << Name(format);
    const auto expected = LogitsOfTexts(*made.Load(Cpu(), format));
    const std::size_t least = LeastMemory(path);
    for (const std::size_t memory : {least, least + (std::size_t{3} << 20)}) {
      const auto model =
          Load(path, {.format = format, .room = {.memory = memory}});
      ASSERT_TRUE(model.ok()) << model.status();
      ASSERT_NE(nullptr, (*model)->network().stream());
      for (int again = 0; again < 2; ++again)
        EXPECT_EQ(*expected, *LogitsOfTexts(**model)) << Name(format);
    }
  }
}

TEST(Pack, TooLittleMemoryIsRefusedWithTheLeastThatWorks) {
  const Packed packed("llama", WeightFormat::kBf16);
  const std::size_t least = LeastMemory(packed.path());
  const absl::Status status =
      Load(packed.path(),
           {.format = WeightFormat::kBf16, .room = {.memory = least - 1}})
          .status();
  EXPECT_EQ(absl::StatusCode::kResourceExhausted, status.code());
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr(packed.path()), HasSubstr("expected memory of at least"),
            HasSubstr("two buffers for reads")));
}

TEST(Pack, MemoryIsBoundedOfPackedModelsOfTheFormatAlone) {
  EXPECT_THAT(
      std::string(Load(GoldenFolder("llama"), {.room = {.memory = 1 << 20}})
                      .status()
                      .message()),
      HasSubstr("expected a packed model"));
  const Packed packed("llama", WeightFormat::kBf16);
  EXPECT_THAT(
      std::string(Load(packed.path(), {.format = WeightFormat::kQ8,
                                       .room = {.memory = 1 << 20}})
                      .status()
                      .message()),
      HasSubstr("expected weights in bf16, as they were packed, found q8"));
}

// Blocks of four bits are packed as a file has them, other matrices in eight
// bits; a golden directory's numbers are rounded to four.
TEST(Pack, KeepsFourBits) {
  const std::string gguf = "tests/goldens/gguf/";
  for (const std::string& model :
       {gguf + "gpt2.gguf", gguf + "types.gguf", GoldenFolder("qwen2")}) {
    const TestFolder folder;
    const std::string path = folder.path() + "/model.pack";
    const auto done = PackTo(model, {.format = WeightFormat::kQ4}, path);
    ASSERT_TRUE(done.ok()) << done.status();
    const auto expected = LoadModel(model, Cpu(), WeightFormat::kQ4);
    const auto packed = Load(path, {.format = WeightFormat::kQ4});
    ASSERT_TRUE(packed.ok()) << packed.status();
    EXPECT_EQ(*LogitsOfTexts(*expected), *LogitsOfTexts(**packed)) << model;
    std::vector<WeightFormat> formats[2];
    for (const KeptMatrix& matrix : expected->facts().matrices)
      formats[0].push_back(matrix.format);
    for (const KeptMatrix& matrix : (*packed)->facts().matrices)
      formats[1].push_back(matrix.format);
    EXPECT_EQ(formats[0], formats[1]) << model;
    EXPECT_THAT(formats[0], testing::Contains(WeightFormat::kQ4));
    EXPECT_EQ(
        std::count(formats[0].begin(), formats[0].end(), WeightFormat::kQ8) > 0,
        IsGguf(model));
  }
}

// The bytes that a model and its copy have in memory, each weight once.
std::size_t InMemory(const Transformer& model, const Transformer& copy) {
  std::size_t bytes = model.network().stream()->ring_bytes();
  bytes += model.network().weights().embedding->bytes();
  if (model.network().weights().own_head != nullptr)
    bytes += model.network().weights().own_head->bytes();
  for (const TransformerWeights* weights :
       {&model.network().weights(), &copy.network().weights()})
    for (std::size_t i = 0; i < weights->layers.size(); ++i) {
      const bool shared = model.network().stream()->KeepsLayer(i);
      if (shared != (weights == &model.network().weights())) continue;
      const TransformerLayer& layer = *weights->layers[i];
      for (const Weight* weight :
           {layer.query_key_value.get(), layer.output.get(),
            layer.gate_up.get(), layer.down.get()})
        bytes += weight->bytes();
    }
  return bytes;
}

// A copy has its own weights where the model reads from disk, and the model's
// everywhere else.
TEST(Pack, ACopySharesWhatIsInMemory) {
  const Packed packed("llama", WeightFormat::kBf16);
  const std::unique_ptr<Checkpoint> checkpoint = MustOpen(packed.path());
  const std::shared_ptr<Backend> backend = Cpu();
  WeightRoom room = {.copies = WeightFormat::kQ8};
  const std::size_t least = WeightStream::LeastMemory(*checkpoint, room);
  const auto all =
      static_cast<std::size_t>(std::filesystem::file_size(packed.path()));
  const auto expected =
      LogitsOfTexts(**Load(packed.path(), {.format = WeightFormat::kBf16}));
  const auto in_q8 =
      LogitsOfTexts(*LoadGolden("llama", backend, WeightFormat::kQ8));
  std::set<int> resident;
  for (room.memory = least;; room.memory += all / 16) {
    const auto model = Transformer::Load(
        *checkpoint, {.format = WeightFormat::kBf16, .room = room}, backend);
    ASSERT_TRUE(model.ok()) << model.status();
    if ((*model)->network().stream() == nullptr) break;
    const auto copy =
        Transformer::Load(*checkpoint, {.format = WeightFormat::kQ8}, backend,
                          {}, &(*model)->network());
    ASSERT_TRUE(copy.ok()) << copy.status();
    EXPECT_EQ((*copy)->network().stream(), nullptr);
    EXPECT_LE(InMemory(**model, **copy), room.memory);
    EXPECT_EQ((*copy)->network().weights().embedding,
              (*model)->network().weights().embedding);
    resident.insert(CountKept(**model));
    EXPECT_LT(CountKept(**model), (*model)->layers());
    const std::vector<bool> kept = Kept(**model);
    for (std::size_t i = 0; i < kept.size(); ++i)
      EXPECT_EQ((*copy)->network().weights().layers[i] ==
                    (*model)->network().weights().layers[i],
                kept[i]);
    EXPECT_EQ(*expected, *LogitsOfTexts(**model));
    // It is neither the model nor, for its embedding, the model in q8.
    const auto found = LogitsOfTexts(**copy);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_NE(*expected, *found);
    EXPECT_NE(*in_q8, *found);
  }
  EXPECT_GT(resident.size(), 1U);
}

// So that one layer is read while another is multiplied.
TEST(Pack, LayersThatStayAreSpread) {
  const TestFolder folder;
  const std::string path = folder.path() + "/model.pack";
  ASSERT_TRUE(
      PackTo("models/pycode-target", {.format = WeightFormat::kBf16}, path)
          .ok());
  const std::size_t step = std::filesystem::file_size(path) / 32;
  std::set<std::vector<bool>> found;
  for (std::size_t memory = LeastMemory(path);; memory += step) {
    const auto model =
        Load(path, {.format = WeightFormat::kBf16, .room = {.memory = memory}});
    ASSERT_TRUE(model.ok()) << model.status();
    if ((*model)->network().stream() == nullptr) break;
    found.insert(Kept(**model));
  }
  EXPECT_THAT(found, ElementsAre(std::vector<bool>{false, false, false, false},
                                 std::vector<bool>{false, false, false, true},
                                 std::vector<bool>{false, true, false, true}));
}

TEST(Pack, RoomForDraftersIsTakenFromTheLayers) {
  const Packed packed("llama", WeightFormat::kBf16);
  const std::unique_ptr<Checkpoint> checkpoint = MustOpen(packed.path());
  const std::size_t least = WeightStream::LeastMemory(*checkpoint);
  constexpr std::size_t kReserved = 123'456'789;
  EXPECT_EQ(WeightStream::LeastMemory(*checkpoint, {.reserved = kReserved}),
            least + kReserved);
  const WeightRoom room = {.memory = least, .reserved = kReserved};
  EXPECT_THAT(
      std::string(WeightStream::Open(*checkpoint, room).status().message()),
      AllOf(HasSubstr("expected memory of at least 12"),
            HasSubstr("123.5 MB of drafters, and two buffers")));
  const auto with = WeightStream::Open(
      *checkpoint, {.memory = least + kReserved, .reserved = kReserved});
  const auto without = WeightStream::Open(*checkpoint, {.memory = least});
  ASSERT_TRUE(with.ok() && without.ok());
  EXPECT_EQ((*with)->pass_bytes(), (*without)->pass_bytes());
  EXPECT_EQ((*with)->ring_bytes(), (*without)->ring_bytes());
}

TEST(Pack, AKilledRunIsResumedToTheSameBytes) {
  const Packed whole("qwen3", WeightFormat::kQ8);
  const PackOptions options = {
      .format = WeightFormat::kQ8, .source = "a name", .sync_bytes = 1};
  bool resumed = false;
  for (int kill_at = 1; kill_at < 40; kill_at += 3) {
    const TestFolder folder;
    const std::string path = folder.path() + "/model.pack";
    const pid_t child = fork();
    if (child == 0) {
      int calls = 0;
      (void)PackModel(*MustOpen(GoldenFolder("qwen3")), options, path,
                      [&](std::int64_t, std::int64_t) {
                        if (++calls == kill_at) _exit(7);
                      });
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(child, waitpid(child, &status, 0));
    if (WEXITSTATUS(status) == 0) break;  // it had done all
    EXPECT_FALSE(std::filesystem::exists(path));
    const absl::StatusOr<PackedModel> done =
        PackTo(GoldenFolder("qwen3"), options, path);
    ASSERT_TRUE(done.ok()) << done.status();
    resumed |= done->resumed > 0;
    EXPECT_EQ(whole.Read(), folder.Read("model.pack"))
        << "killed at " << kill_at;
    EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
  }
  EXPECT_TRUE(resumed);
}

TEST(Pack, WhatIsLeftOfAnotherModelIsWrittenOver) {
  const Packed whole("qwen3", WeightFormat::kQ8);
  const TestFolder folder;
  const std::string path = folder.path() + "/model.pack";
  folder.Write("model.pack.partial", std::string(300000, 'x'));
  const absl::StatusOr<PackedModel> done =
      PackTo(GoldenFolder("qwen3"),
             {.format = WeightFormat::kQ8, .source = "a name"}, path);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(0, done->resumed);
  EXPECT_EQ(whole.Read(), folder.Read("model.pack"));
}

TEST(Pack, AFullDiskIsTold) {
  const TestFolder folder;
  const FewBytes few(20000);
  const absl::Status status =
      PackTo(GoldenFolder("llama"), {.format = WeightFormat::kBf16},
             folder.path() + "/model.pack")
          .status();
  EXPECT_EQ(absl::StatusCode::kInternal, status.code());
  EXPECT_THAT(std::string(status.message()), HasSubstr("model.pack"));
}

TEST(Pack, WhatIsNoModelIsRefused) {
  const TestFolder folder;
  const std::string path = folder.path() + "/model.pack";
  const Packed packed("llama", WeightFormat::kBf16);
  EXPECT_THAT(std::string(PackTo(packed.path(), {}, path).status().message()),
              HasSubstr("expected a language model, found a packed one"));
  EXPECT_THAT(
      std::string(PackTo(GoldenFolder("llama"), {}, folder.path() + "/x")
                      .status()
                      .message()),
      HasSubstr("expected a file that ends in .pack"));
}

TEST(Pack, KeepsWhatTheModelIs) {
  const Packed packed("qwen2", WeightFormat::kQ8);
  const absl::StatusOr<PackHeader> header = ReadPackHeader(packed.path());
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ("a name", header->source);
  EXPECT_EQ(WeightFormat::kQ8, header->format);
  EXPECT_EQ(1, header->texts.count("config.json"));
  const Architecture before = MustOpen(GoldenFolder("qwen2"))->architecture();
  const Architecture after = MustOpen(packed.path())->architecture();
  EXPECT_EQ(before.family, after.family);
  EXPECT_EQ(before.vocab_size, after.vocab_size);
  EXPECT_EQ(before.layers.size(), after.layers.size());
}

}  // namespace
}  // namespace banyan
