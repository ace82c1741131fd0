// Runs every file of the fuzzers' corpora through the fuzzers' entry points, in
// the ordinary build. A file named ok_* must be read; one named bad_* must be
// refused. How many are read (proven) and refused (unlawful) is held.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "core/base/read_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fuzz/model_targets.h"
#include "tests/fuzz/targets.h"
#include "tests/support/tally.h"

namespace banyan {
namespace {

constexpr char kProgram[] = "corpus_test";
constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
constexpr char kLineAndColumn[] = "corpus:[0-9]+:[0-9]+: ";

std::vector<std::filesystem::path> CorpusFiles(const std::string& name) {
  std::vector<std::filesystem::path> files;
  const std::string folder = "tests/fuzz/corpus/" + name;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// `place` is a pattern of what an error's message begins with.
void RunCorpus(const std::string& name,
               absl::Status (*target)(absl::string_view text),
               const std::string& place) {
  const std::vector<std::filesystem::path> files = CorpusFiles(name);
  Tally tally;
  for (const std::filesystem::path& file : files) {
    SCOPED_TRACE(file.string());
    const absl::StatusOr<std::string> text = ReadFile(file.string(), kMaxBytes);
    ASSERT_TRUE(text.ok()) << text.status();
    const absl::Status status = target(*text);
    const std::string stem = file.filename().string();
    if (absl::StartsWith(stem, "ok_")) {
      EXPECT_TRUE(status.ok()) << status;
      tally.Count(CaseResult::kProven);
    } else {
      EXPECT_TRUE(absl::StartsWith(stem, "bad_")) << "name it ok_* or bad_*";
      EXPECT_THAT(std::string(status.message()),
                  testing::MatchesRegex(place + ".+"));
      tally.Count(CaseResult::kUnlawful);
    }
  }
  ExpectCounts(tally, kProgram);
}

TEST(Corpus, OfYamlIsReadOrRefusedAsItsNamesSay) {
  RunCorpus("yaml", FuzzYaml, kLineAndColumn);
}

TEST(Corpus, OfPathsJsonIsReadOrRefusedAsItsNamesSay) {
  RunCorpus("paths_json", FuzzPathsJson, kLineAndColumn);
}

TEST(Corpus, OfSafetensorsIsReadOrRefusedAsItsNamesSay) {
  RunCorpus("safetensors", FuzzSafetensors, "corpus: ");
}

TEST(Corpus, OfConfigJsonIsReadOrRefusedAsItsNamesSay) {
  RunCorpus("config_json", FuzzConfigJson, "corpus: ");
}

TEST(Corpus, OfTokenizerJsonIsReadOrRefusedAsItsNamesSay) {
  RunCorpus("tokenizer_json", FuzzTokenizerJson, "corpus:([0-9]+:[0-9]+:)? ");
}

TEST(CorpusCounts, AreEachOfATest) { ExpectATestForEveryCount(kProgram); }

}  // namespace
}  // namespace banyan
