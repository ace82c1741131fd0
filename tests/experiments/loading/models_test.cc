// What the commands on models stand on: the shelf, and scoring.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/checkpoint.h"
#include "core/model/table_model.h"
#include "core/ops/backend.h"
#include "core/ops/cpu/cpu_backend.h"
#include "core/ops/devices.h"
#include "experiments/loading/model_shelf.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/fingerprint.h"
#include "experiments/texts/texts.h"
#include "tests/core/checkpoint/files.h"
#include "tests/support/made/edited_model.h"
#include "tests/support/made/golden_model.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

ModelShelf Shelf() {
  auto backend = CpuBackend::Create({.threads = 1});
  EXPECT_TRUE(backend.ok()) << backend.status();
  return ModelShelf(*std::move(backend));
}

TEST(ModelShelf, LoadsADirectoryAndFormatOnce) {
  ModelShelf shelf = Shelf();
  const auto open = [&](const std::string& directory,
                        const std::string& weights) {
    const auto loaded =
        shelf.Open({.directory = directory, .weights = weights});
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return loaded.ok() ? loaded->model : nullptr;
  };
  // Every matrix of this one is stored as BF16.
  const std::string folder = GoldenFolder("llama");
  const auto first = open(folder, "bf16");
  EXPECT_EQ(first, open(folder, "auto"));
  EXPECT_EQ(first, open(folder + "/../llama", "auto"));
  EXPECT_NE(first, open(folder, "q8"));
  EXPECT_EQ(open(folder, "q8"), open(folder, "q8"));
  EXPECT_NE(first, open(GoldenFolder("qwen2"), "bf16"));
}

TEST(ModelShelf, TellsEachWarningOnce) {
  EditedModel model(GoldenFolder("llama"));
  model.files()["model.safetensors"]["unread"] = {"U8", {1}, "x"};
  model.Write("model.safetensors");
  std::vector<std::string> warnings;
  auto backend = CpuBackend::Create({.threads = 1});
  ModelShelf shelf(*std::move(backend), [&](const std::string& warning) {
    warnings.push_back(warning);
  });
  for (const char* weights : {"bf16", "auto", "q8"})
    EXPECT_TRUE(
        shelf.Open({.directory = model.path(), .weights = weights}).ok());
  EXPECT_TRUE(shelf.Open({.directory = GoldenFolder("qwen2")}).ok());
  EXPECT_EQ(warnings, std::vector<std::string>{
                          model.path() + ": 1 tensor is not read: 'unread'"});
}

std::string Fingerprint(const std::string& folder) {
  return WeightsFingerprint(FilesAt(folder));
}

TEST(Fingerprint, IsThatOfOrdinaryFiles) {
  alarm(60);  // where it waits for a pipe, it ends the program
  const TestFolder folder;
  folder.Write("a.safetensors", "a");
  const std::string before = Fingerprint(folder.path());
  ASSERT_EQ(mkfifo((folder.path() + "/b.safetensors").c_str(), 0600), 0);
  EXPECT_EQ(Fingerprint(folder.path()), before);
  folder.Write("c.safetensors", "c");
  EXPECT_NE(Fingerprint(folder.path()), before);
  alarm(0);
}

TEST(Fingerprint, IsThatOfTheListOfACorpusIndex) {
  const TestFolder folder;
  EXPECT_EQ(Fingerprint(folder.path()), "");
  folder.Write("index.json", "a");
  const std::string before = Fingerprint(folder.path());
  folder.Write("index.json", "b");
  EXPECT_NE(Fingerprint(folder.path()), before);
  folder.Write("index.json", "a");
  EXPECT_EQ(Fingerprint(folder.path()), before);
}

TEST(Fingerprint, NamesEveryFileOfAFolderButThoseBeside) {
  const TestFolder folder;
  for (const char* name : {"config.json", "chat_template.jinja",
                           "counts.safetensors", "00000.tokens", "README.md",
                           "notes.txt", ".hidden", "r.banyan", "w.partial"})
    folder.Write(name, name);
  std::vector<std::string> names;
  for (const records::File& file : FilesAt(folder.path()))
    names.push_back(file.path().substr(file.path().rfind('/') + 1));
  EXPECT_EQ(names,
            (std::vector<std::string>{"00000.tokens", "chat_template.jinja",
                                      "config.json", "counts.safetensors"}));
  const std::vector<records::File> file =
      FilesAt(folder.path() + "/config.json");
  ASSERT_EQ(file.size(), 1);
  EXPECT_EQ(file[0].fingerprint(), FilesAt(folder.path())[2].fingerprint());
  EXPECT_TRUE(FilesAt(folder.path() + "/none").empty());
}

// A weight changed anywhere is another model, whatever the file's size.
TEST(Fingerprint, IsOfEveryByte) {
  const TestFolder folder;
  const std::string path = folder.path() + "/model.safetensors";
  std::string bytes(std::size_t{17} << 20, 'a');
  folder.Write("model.safetensors", bytes);
  const std::string before = FilesAt(path)[0].fingerprint();
  for (const std::size_t place : {std::size_t{5000}, bytes.size() - 1}) {
    bytes[place] = 'b';
    folder.Write("model.safetensors", bytes);
    EXPECT_NE(FilesAt(path)[0].fingerprint(), before) << place;
    bytes[place] = 'a';
  }
}

// A file's name says whether it is an index's shard.
TEST(Fingerprint, IsOfEveryByteOfWeightsBesideAStrayList) {
  const TestFolder folder;
  folder.Write("index.json", "{}");
  const std::string path = folder.path() + "/model.safetensors";
  std::string bytes(std::size_t{9} << 20, 'a');
  folder.Write("model.safetensors", bytes);
  const std::string before = FilesAt(path)[0].fingerprint();
  bytes[5000] = 'b';
  folder.Write("model.safetensors", bytes);
  EXPECT_NE(FilesAt(path)[0].fingerprint(), before);
}

TEST(Fingerprint, AFileThatIsNoLongerTheSameIsTold) {
  const TestFolder folder;
  const std::string path = folder.Write("model.safetensors", "weights");
  folder.Write("config.json", "{}");
  const FileStates before = StatesAt(folder.path());
  EXPECT_EQ(before.size(), 2);
  EXPECT_TRUE(CheckUnchanged(folder.path(), before).ok());
  // File times move on by milliseconds.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::string canonical =
      std::filesystem::canonical(folder.path()).string() + "/";
  const auto expect = [&](const std::string& what) {
    const absl::Status status = CheckUnchanged(folder.path(), before);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << what;
    EXPECT_THAT(std::string(status.message()),
                AllOf(StartsWith(canonical), HasSubstr(what)));
  };
  const auto written = std::filesystem::last_write_time(path);
  folder.Write("model.safetensors", "another");
  expect(
      "model.safetensors: expected the file as it was when the run began, "
      "found it written since");
  std::filesystem::last_write_time(path, written);
  expect("found it written, or renamed since");
  folder.Write("model.safetensors", "a longer text");
  expect("found it of another size since");
  std::filesystem::rename(folder.Write("new.partial", "weights"), path);
  expect("found it replaced since");
  std::filesystem::remove(path);
  expect("found it removed since");
  const FileStates now = StatesAt(folder.path());
  folder.Write("generation_config.json", "{}");
  EXPECT_THAT(std::string(CheckUnchanged(folder.path(), now).message()),
              HasSubstr("generation_config.json: expected the file as it was "
                        "when the run began, found it added since"));
}

// An index's shards have sums of their own, and may be larger than memory.
TEST(Fingerprint, IsOfPartsOfAnIndexsShard) {
  const TestFolder folder;
  folder.Write("index.json", "{}");
  const std::string path = folder.path() + "/00000.tokens";
  std::string bytes(std::size_t{9} << 20, 'a');
  const auto changed = [&](std::size_t place) {
    folder.Write("00000.tokens", bytes);
    const std::string before = FilesAt(path)[0].fingerprint();
    bytes[place] = 'b';
    folder.Write("00000.tokens", bytes);
    bytes[place] = 'a';
    return FilesAt(path)[0].fingerprint() != before;
  };
  const std::size_t apart = (bytes.size() - 4096) / 1023;
  for (const std::size_t part : {0, 1, 500, 1023})
    EXPECT_TRUE(changed(part * apart + 4095)) << part;
  EXPECT_FALSE(changed(4096));
}

TEST(ModelShelf, SaysWhatAModelTakesThatDoesNotFit) {
  const auto checkpoint = Checkpoint::Open("models/pycode-target");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  auto created = CpuBackend::Create({.threads = 1});
  ASSERT_TRUE(created.ok()) << created.status();
  const std::shared_ptr<Backend> backend = *std::move(created);
  const auto room = [&](WeightFormat format, std::uint64_t free) {
    return CheckRoom(**checkpoint, format, free, *backend);
  };
  EXPECT_TRUE(room(WeightFormat::kBf16, std::uint64_t{1} << 30).ok());
  const absl::Status error = room(WeightFormat::kF32, 6'000'000);
  EXPECT_EQ(error.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(
      std::string(error.message()),
      MatchesRegex(
          "models/pycode-target: the weights take 0.0102 GB in f32, and "
          "0.006 GB of memory are free; with enough memory a token would "
          "take \\S+ ms or more here; --weights bf16 takes 0.005\\S* GB; "
          "--weights q8 takes 0.002\\S* GB; --weights q4 takes 0.001\\S* GB; "
          "`banyan pack` and --memory "
          ".*"));
  EXPECT_FALSE(OutlineOf(backend)->facts().computes);
}

TEST(ModelShelf, SaysThatADirectoryIsMissing) {
  ModelShelf shelf = Shelf();
  const auto error = [&](const char* directory) {
    return shelf.Open({.directory = directory}).status();
  };
  for (const char* none : {"no_such_folder", "", "models/no.gguf"}) {
    EXPECT_EQ(error(none).code(), absl::StatusCode::kNotFound) << none;
    EXPECT_THAT(std::string(error(none).message()),
                AllOf(HasSubstr(std::string("there is no '") + none + "'"),
                      HasSubstr("scripts/models smollm2"),
                      HasSubstr("--local-dir DIR")));
  }
  EXPECT_THAT(std::string(error("CMakeLists.txt").message()),
              HasSubstr("'CMakeLists.txt' is none: a model is a directory"));
  EXPECT_THAT(std::string(error("models/pycode-targte").message()),
              HasSubstr("; did you mean 'models/pycode-target'?"));
  EXPECT_THAT(std::string(error("some-one/a-model").message()),
              HasSubstr("`hf download some-one/a-model --local-dir DIR`"));
}

// The mass of the next token depends on the number of tokens, so that a piece
// scored at the wrong place shows.
std::vector<double> Masses(std::size_t length) {
  const double first = 1.0 / static_cast<double>(length + 1);
  return {first, 1 - first};
}

TEST(ScoreText, GoesOnAcrossPieces) {
  const TableModel model(
      2, [](absl::Span<const TokenId> text) { return Masses(text.size()); });
  // Of one token, about one piece of 128, and over several.
  for (std::size_t length : {1u, 2u, 127u, 128u, 129u, 256u, 300u}) {
    std::vector<TokenId> text(length);
    for (std::size_t i = 0; i < length; ++i)
      text[i] = static_cast<TokenId>(i % 3 % 2);
    const absl::StatusOr<TextScores> scores = ScoreText(model, text);
    ASSERT_TRUE(scores.ok()) << scores.status();
    ASSERT_EQ(scores->tokens.size(), length - 1);
    for (std::size_t i = 1; i < length; ++i) {
      const std::vector<double> masses = Masses(i);
      const auto token = static_cast<std::size_t>(text[i]);
      // Two logarithms and an exponential, each off by an ulp or so.
      EXPECT_NEAR(scores->tokens[i - 1].log_probability,
                  std::log(masses[token]), 1e-14)
          << i << " of " << length;
      // Equal masses, at i = 1: the lower id comes first.
      EXPECT_EQ(
          scores->tokens[i - 1].rank,
          1 + (masses[1 - token] > masses[token] || (i == 1 && token == 1)))
          << i << " of " << length;
    }
    EXPECT_EQ(scores->last_logits.size(), 2u);
    EXPECT_NEAR(scores->last_logits[0], std::log(Masses(length)[0]), 1e-15);
  }
}

TEST(ScoreText, RefusesWhatCannotBeScored) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const TableModel broken(
      2,
      [nan](absl::Span<const TokenId> /*text*/) {
        return std::vector<double>{nan, 0.5};
      },
      4);
  EXPECT_FALSE(ScoreText(broken, {}).ok());
  EXPECT_EQ(ScoreText(broken, {0, 0, 0, 0, 0}).status().message(),
            "the text has 5 tokens, the context holds 4");
  EXPECT_EQ(ScoreText(broken, {0}).status().message(),
            "the logit of token 0 is nan, expected a number");
}

}  // namespace
}  // namespace banyan
