// Runs every file of the fuzzers' corpora through the fuzzers' entry points, in
// the ordinary build. A file named ok_* must be read; one named bad_* must be
// refused. The tally counts files read as proven, files refused as kUnlawful.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/input_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/fuzz/targets.h"
#include "tests/support/tally.h"

namespace banyan {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
constexpr char kLineAndColumn[] = "corpus:[0-9]+:[0-9]+: ";

std::vector<std::filesystem::path> FilesOf(const std::string& name) {
  std::vector<std::filesystem::path> files;
  const std::string folder = "tests/fuzz/corpus/" + name;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// What reads a folder of the corpora.
struct Reader {
  std::string name;  // the folder's
  absl::Status (*target)(absl::string_view text);
  std::string place;  // a pattern of what an error's message begins with
};

const Reader kReaders[] = {
    {"config_json", FuzzConfigJson, "corpus:([0-9]+:[0-9]+:)? "},
    {"gguf", FuzzGguf, "corpus: "},
    {"json", FuzzJson, kLineAndColumn},
    {"pack", FuzzPack, "corpus:?([0-9]+:[0-9]+:)? "},
    {"paths_json", FuzzPathsJson, kLineAndColumn},
    {"records", FuzzRecords, "corpus: the entry at byte [0-9]+: "},
    {"safetensors", FuzzSafetensors, "corpus: "},
    {"tokenizer_json", FuzzTokenizerJson, "corpus:([0-9]+:[0-9]+:)? "},
    {"yaml", FuzzYaml, kLineAndColumn}};

class Corpus : public testing::TestWithParam<Reader> {};

TEST_P(Corpus, IsReadOrRefusedAsItsNamesSay) {
  Tally tally;
  for (const std::filesystem::path& file : FilesOf(GetParam().name)) {
    SCOPED_TRACE(file.string());
    const absl::StatusOr<std::string> text = ReadFile(file.string(), kMaxBytes);
    ASSERT_TRUE(text.ok()) << text.status();
    const absl::Status status = GetParam().target(*text);
    const std::string stem = file.filename().string();
    if (absl::StartsWith(stem, "ok_")) {
      EXPECT_TRUE(status.ok()) << status;
      tally.Count(CaseResult::kProven);
    } else {
      EXPECT_TRUE(absl::StartsWith(stem, "bad_")) << "name it ok_* or bad_*";
      EXPECT_THAT(std::string(status.message()),
                  testing::MatchesRegex(GetParam().place + ".+"));
      tally.Count(CaseResult::kUnlawful);
    }
  }
  ExpectCounts(tally, 5);
}

INSTANTIATE_TEST_SUITE_P(All, Corpus, testing::ValuesIn(kReaders),
                         [](const auto& row) { return row.param.name; });

// Every text that is one byte away from one of the corpus: the target holds our
// reader against another.
TEST(Json, IsReadAsAnotherReaderDoesWhateverAByteIsChangedTo) {
  constexpr char kBytes[] =  // and the zero that ends it
      "\t\n \"+,-.019:[\\]eu{}\x80\xC3\xFF";
  constexpr std::size_t kLongest = 200;
  for (const std::filesystem::path& file : FilesOf("json")) {
    const absl::StatusOr<std::string> text = ReadFile(file.string(), kMaxBytes);
    ASSERT_TRUE(text.ok()) << text.status();
    if (text->size() > kLongest) continue;
    for (std::size_t i = 0; i < text->size(); ++i) {
      (void)FuzzJson(text->substr(0, i));
      (void)FuzzJson(text->substr(i));
      for (const char byte : kBytes) {
        std::string changed = *text;
        changed[i] = byte;
        (void)FuzzJson(changed);
      }
    }
  }
}

// Ways to change a value of a header.
std::vector<Json> ChangesOf(const Json& value) {
  if (value.is_boolean()) return {!value.get<bool>()};
  if (value.is_string())
    return {"", "f32", "q8", "model.norm.weight", "model.embed_tokens.weight"};
  if (value.is_number()) {
    const auto number = value.get<std::int64_t>();
    return {0, 1, number - 1, number + 1, 2 * number, 4096, 1 << 30};
  }
  std::vector<Json> changes = {value.is_array() ? Json::array() : Json()};
  if (value.is_array() && !value.empty()) {
    Json reversed = value;
    std::reverse(reversed.begin(), reversed.end());
    Json repeated = value;
    repeated.push_back(value.front());
    changes.insert(changes.end(), {reversed, repeated});
  }
  return changes;
}

// Calls `visit` with every value of `root` but itself.
void ForEachPlace(
    const Json& root, const Json::json_pointer& at,
    const std::function<void(const Json::json_pointer& place)>& visit) {
  const Json& value = root.at(at);
  for (const auto& [key, item] : value.items()) {
    const Json::json_pointer place =
        value.is_array() ? at / std::stoul(key) : at / key;
    visit(place);
    if (item.is_structured()) ForEachPlace(root, place, visit);
  }
}

// How many of the headers that differ from this one in one place are refused.
int CountRefused(const Json& header) {
  int refused = 0;
  const auto run = [&refused](const Json& changed) {
    if (!FuzzPack(changed.dump()).ok()) ++refused;
  };
  ForEachPlace(header, Json::json_pointer(), [&](const auto& place) {
    for (const Json& change : ChangesOf(header.at(place))) {
      Json changed = header;
      changed.at(place) = change;
      run(changed);
    }
    Json without = header;
    Json& from = without.at(place.parent_pointer());
    if (from.is_array())
      from.erase(std::stoul(place.back()));
    else
      from.erase(place.back());
    run(without);
  });
  return refused;
}

// The target holds what is opened all the same to its promises.
TEST(Pack, IsReadOrRefusedWhateverOfItsHeaderIsChanged) {
  int headers = 0;
  for (const std::filesystem::path& file : FilesOf("pack")) {
    if (!absl::StartsWith(file.filename().string(), "ok_")) continue;
    const absl::StatusOr<std::string> text = ReadFile(file.string(), kMaxBytes);
    ASSERT_TRUE(text.ok()) << text.status();
    EXPECT_GT(CountRefused(Json::parse(*text)), 500) << file;
    ++headers;
  }
  EXPECT_GE(headers, 5);
}

TEST(Corpora, HaveAReaderAndAFuzzerEach) {
  std::vector<std::string> readers;
  for (const Reader& reader : kReaders) readers.push_back(reader.name);
  EXPECT_EQ(absl::StrJoin(readers, ","), BANYAN_FUZZ_READERS);
  std::vector<std::string> folders;
  for (const auto& entry :
       std::filesystem::directory_iterator("tests/fuzz/corpus"))
    folders.push_back(entry.path().filename().string());
  EXPECT_THAT(folders, testing::UnorderedElementsAreArray(readers));
}

}  // namespace
}  // namespace banyan
