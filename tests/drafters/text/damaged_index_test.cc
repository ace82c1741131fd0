// What is wrong with an index on disk is told: by its manifest, by a file that
// was cut, by a byte that was flipped.
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "core/base/bytes.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "drafters/text/corpus_index.h"
#include "drafters/text/index_manifest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/checkpoint/files.h"
#include "tests/support/made/made_index.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int kAll = 1 << 20;  // more places than any test has

// An index of two shards, to be damaged.
class DamagedIndex : public testing::Test {
 protected:
  DamagedIndex() {
    MustBuildIndex(
        folder_.path(), {{0, 1, 2}, {1, 2, 1}, {2, 2}},
        {.tokenizer = "00112233445566ff", .vocab_size = 3, .shard_tokens = 8});
  }
  absl::Status Opened() const {
    return CorpusIndex::Open(folder_.path()).status();
  }
  std::string Path(const std::string& name) const {
    return folder_.path() + "/" + name;
  }
  void Replace(const std::string& from, const std::string& to) const {
    const std::string text = folder_.Read("index.json");
    ASSERT_THAT(text, HasSubstr(from));
    folder_.Write("index.json", absl::StrReplaceAll(text, {{from, to}}));
  }
  void ExpectRefusedManifest(const std::string& from, const std::string& to,
                             const std::string& key,
                             const std::string& expected) const {
    const std::string text = folder_.Read("index.json");
    Replace(from, to);
    const absl::Status status = Opened();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(Path("index.json") + ": " + key + ": "),
                      HasSubstr("expected " + expected)));
    folder_.Write("index.json", text);
  }
  // Flips some bits of a byte.
  void Flip(const std::string& name, std::size_t at, char bits) const {
    std::string bytes = folder_.Read(name);
    bytes.at(at) = static_cast<char>(bytes[at] ^ bits);
    folder_.Write(name, bytes);
  }

  // Whoever damaged the files wrote their sums anew.
  void SumAgain() const {
    IndexManifest manifest = *ReadIndexManifest(folder_.path(), kIndexFile);
    for (std::size_t i = 0; i < manifest.shards.size(); ++i) {
      IndexShard& shard = manifest.shards[i];
      const auto sums = [&](const char* ending) {
        return ExtentSums(BytesOf(folder_.Read(absl::StrCat("00", i, ending))));
      };
      shard.tokens_extents = sums(".tokens");
      shard.suffixes_extents = sums(".suffixes");
    }
    folder_.Write("index.json", ToJson(manifest));
  }

  const TestFolder folder_;
};

TEST_F(DamagedIndex, IsWholeToBeginWith) {
  const auto index = CorpusIndex::Open(folder_.path());
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_TRUE((*index)->CheckSums().ok());
  EXPECT_EQ((*index)->manifest().shards.size(), 2U);
}

TEST_F(DamagedIndex, IsRefusedByItsManifest) {
  ExpectRefusedManifest("banyan corpus index", "another", "format",
                        "'banyan corpus index', found \"another\"");
  ExpectRefusedManifest("\"version\": 2", "\"version\": 3", "version",
                        "2; build the index again");
  // Numbers that could be, and were not written.
  for (const char* key : {"\"documents\": ", "\"cut\": "})
    ExpectRefusedManifest(key, absl::StrCat(key, "1"), "manifest_fnv1a", "");
  ExpectRefusedManifest("\"token_bytes\": 2", "\"token_bytes\": 4",
                        "token_bytes", "2, found 4");
  ExpectRefusedManifest("\"vocab_size\": 3", "\"vocab_size\": 0", "vocab_size",
                        "a number from 1");
  ExpectRefusedManifest("\"shard_tokens\": 8", "\"shard_tokens\": 1",
                        "shard_tokens", "a number from 2");
  ExpectRefusedManifest("\"tokens\": 8", "\"tokens\": 9", "shards[0].tokens",
                        "a number from 0 to 8, found 9");
  ExpectRefusedManifest("\"suffixes\": 6", "\"suffixes\": 8",
                        "shards[0].suffixes", "a number from 0 to 7, found 8");
  ExpectRefusedManifest("\"cut\": 0", "\"cut\": -1", "shards[0].cut",
                        "a number from 0");
  ExpectRefusedManifest("\"documents\": 2", "\"documents\": 0",
                        "shards[0].documents", "at least 1 where `cut` is 0");
  ExpectRefusedManifest("\"documents\": 2", "\"documents\": 99",
                        "shards[1].documents", "at least 99");
  ExpectRefusedManifest("\"tokens_fnv1a\": \"", "\"tokens_fnv1a\": \"x",
                        "shards[0].tokens_fnv1a", "sixteen digits");
  Replace("\"documents\"", "\"texts\"");
  EXPECT_THAT(std::string(Opened().message()),
              HasSubstr(Path("index.json") + ": shards[0].texts: unknown key"));
}

TEST_F(DamagedIndex, IsRefusedWhereAShardIsTakenOut) {
  IndexManifest manifest = *ReadIndexManifest(folder_.path(), kIndexFile);
  manifest.shards.pop_back();
  const auto name_of = [](const std::string& text) {
    const std::size_t at = text.find("manifest_fnv1a");
    return text.substr(at, text.find('\n', at) - at);
  };
  const std::string whole = folder_.Read("index.json");
  const std::string less = ToJson(manifest);
  folder_.Write("index.json",
                absl::StrReplaceAll(less, {{name_of(less), name_of(whole)}}));
  EXPECT_THAT(std::string(Opened().message()),
              AllOf(HasSubstr(Path("index.json") + ": manifest_fnv1a: "),
                    HasSubstr("the file was changed")));
}

TEST_F(DamagedIndex, IsRefusedWithoutAShard) {
  IndexManifest manifest = *ReadIndexManifest(folder_.path(), kIndexFile);
  manifest.shards.clear();
  folder_.Write("index.json", ToJson(manifest));
  EXPECT_EQ(Opened().message(),
            Path("index.json") +
                ": shards: expected at least one shard, found a list");
}

TEST_F(DamagedIndex, SaysThatAFileWasCutShortSinceItWasOpened) {
  for (const char* name : {"000.tokens", "001.suffixes"}) {
    const std::string bytes = folder_.Read(name);
    const auto index = CorpusIndex::Open(folder_.path());
    ASSERT_TRUE(index.ok()) << index.status();
    const auto places = (*index)->Find({0});
    ASSERT_TRUE(places.ok()) << places.status();
    std::filesystem::resize_file(Path(name), 0);
    for (const absl::Status& status :
         {(*index)->Find({0}).status(),
          (*index)->LongestMatch({0, 1}, 1, 2).status(),
          (*index)->After({1, *places}, 1, kAll).status(),
          (*index)->CheckSums()}) {
      EXPECT_TRUE(absl::IsDataLoss(status)) << status;
      EXPECT_EQ(status.message(),
                absl::StrCat(Path(name), ": expected ", bytes.size(),
                             " bytes, as when it was opened, found 0: it was "
                             "cut short since"));
    }
    folder_.Write(name, bytes);
    // Another file of the name takes nothing away.
    const auto again = CorpusIndex::Open(folder_.path());
    ASSERT_TRUE(again.ok()) << again.status();
    std::filesystem::rename(Path(name), Path("moved"));
    folder_.Write(name, "");
    EXPECT_TRUE((*again)->Find({0}).ok());
    std::filesystem::remove(Path("moved"));
    folder_.Write(name, bytes);
  }
}

TEST_F(DamagedIndex, IsRefusedWithoutAManifestOrWithHalfOfIt) {
  const std::string text = folder_.Read("index.json");
  folder_.Write("index.json", text.substr(0, text.size() / 2));
  absl::Status status = Opened();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(Path("index.json") + ":"));
  std::rename(Path("index.json").c_str(), Path("building.json").c_str());
  status = Opened();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(Path("index.json") + ": the index is not whole"),
                    HasSubstr("found building.json")));
  std::remove(Path("building.json").c_str());
  status = Opened();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(Path("index.json") + ": No such file"));
}

TEST_F(DamagedIndex, IsRefusedWithATornFile) {
  for (const char* name :
       {"000.tokens", "000.suffixes", "001.tokens", "001.suffixes"}) {
    const std::string bytes = folder_.Read(name);
    for (const std::string& torn :
         {bytes.substr(0, bytes.size() - 1), bytes + "x", std::string()}) {
      folder_.Write(name, torn);
      const absl::Status status = Opened();
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      EXPECT_THAT(
          std::string(status.message()),
          HasSubstr(absl::StrCat(Path(name), ": expected ", bytes.size(),
                                 " bytes, as the index "
                                 "says, found ",
                                 torn.size())));
    }
    std::remove(Path(name).c_str());
    EXPECT_THAT(std::string(Opened().message()),
                HasSubstr(Path(name) + ": No such file"));
    folder_.Write(name, bytes);
  }
  EXPECT_TRUE(Opened().ok());
}

TEST_F(DamagedIndex, IsKnownByEveryByteThatWasFlipped) {
  for (const char* name :
       {"000.tokens", "000.suffixes", "001.tokens", "001.suffixes"})
    for (std::size_t at = 0; at < folder_.Read(name).size(); ++at) {
      Flip(name, at, 4);
      const auto index = CorpusIndex::Open(folder_.path());
      if (index.ok()) {  // else the last separator is none
        const absl::Status status = (*index)->CheckSums();
        EXPECT_TRUE(absl::IsDataLoss(status)) << status;
        EXPECT_THAT(std::string(status.message()),
                    AllOf(HasSubstr(Path(name) + ": "), HasSubstr("expected"),
                          HasSubstr("found")));
      } else {
        EXPECT_THAT(std::string(index.status().message()),
                    HasSubstr(Path(name) + ": expected a separator"));
      }
      Flip(name, at, 4);
    }
}

TEST_F(DamagedIndex, FailsWhereASearchFirstReadsAFlippedByte) {
  for (const char* name : {"000.tokens", "000.suffixes"}) {
    Flip(name, 4, 1);
    const auto index = CorpusIndex::Open(folder_.path());
    ASSERT_TRUE(index.ok()) << index.status();
    const absl::Status failed = (*index)->LongestMatch({1, 2}, 1, 16).status();
    EXPECT_TRUE(absl::IsDataLoss(failed)) << failed;
    EXPECT_THAT(std::string(failed.message()),
                HasSubstr(Path(name) + ": the file was changed: expected "));
    Flip(name, 4, 1);
  }
}

// Where even the sums fit: what is no place and what is no token.
TEST_F(DamagedIndex, FailsWhereAnEntryIsNoPlaceOrATokenIsNone) {
  for (std::size_t entry = 0; entry < 6; ++entry) {
    Flip("000.suffixes", 4 * entry + 3, static_cast<char>(0x80));
    SumAgain();
    const auto index = CorpusIndex::Open(folder_.path());
    ASSERT_TRUE(index.ok()) << index.status();
    absl::Status failed;
    for (const MadeDocument& string : StringsOf({0, 1, 2}, 2)) {
      const auto places = (*index)->Find(string);
      failed.Update(places.status());
      if (!places.ok()) continue;
      failed.Update(
          (*index)
              ->After({static_cast<int>(string.size()), *places}, 1, kAll)
              .status());
    }
    EXPECT_TRUE(absl::IsDataLoss(failed)) << failed;
    EXPECT_THAT(std::string(failed.message()),
                AllOf(HasSubstr(absl::StrCat(Path("000.suffixes"), ": entry ",
                                             entry, " is ")),
                      HasSubstr("expected less than 8")));
    Flip("000.suffixes", 4 * entry + 3, static_cast<char>(0x80));
  }
  Flip("000.tokens", 3, 8);  // the second token is 9
  SumAgain();
  const auto index = CorpusIndex::Open(folder_.path());
  ASSERT_TRUE(index.ok()) << index.status();
  const auto after = (*index)->After({1, *(*index)->Find({0})}, 1, kAll);
  EXPECT_TRUE(absl::IsDataLoss(after.status())) << after.status();
  EXPECT_THAT(
      std::string(after.status().message()),
      HasSubstr(Path("000.tokens") + ": token 1 is 9, expected less than 3"));
}

TEST_F(DamagedIndex, OfAnotherTokenizerDoesNotFit) {
  const auto index = CorpusIndex::Open(folder_.path());
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_TRUE((*index)->CheckFits("00112233445566ff", 3).ok());
  EXPECT_TRUE((*index)->CheckFits("00112233445566ff", 5).ok());
  EXPECT_TRUE((*index)->CheckFits("", 3).ok());
  absl::Status status = (*index)->CheckFits("00112233445566fe", 3);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr(Path("index.json") + ": tokenizer: expected the "
                                           "target's 00112233445566fe, found "
                                           "00112233445566ff"),
            HasSubstr("another tokenizer")));
  status = (*index)->CheckFits("", 2);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(Path("index.json") + ": vocab_size: expected no more "
                                             "than the target's 2, found 3"));
}

// As no builder writes it, and the format allows it.
TEST_F(DamagedIndex, MayHaveAnEmptyShard) {
  IndexManifest manifest = *ReadIndexManifest(folder_.path(), kIndexFile);
  const std::string none = "cbf29ce484222325";
  manifest.shards.insert(
      manifest.shards.begin(),
      {.tokens_fnv1a = none, .suffixes_fnv1a = none, .text_fnv1a = none});
  folder_.Write("index.json", ToJson(manifest));
  for (const char* ending : {".tokens", ".suffixes"}) {
    folder_.Write(absl::StrCat("002", ending),
                  folder_.Read(absl::StrCat("001", ending)));
    folder_.Write(absl::StrCat("001", ending),
                  folder_.Read(absl::StrCat("000", ending)));
    folder_.Write(absl::StrCat("000", ending), "");
  }
  const auto index = CorpusIndex::Open(folder_.path());
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_TRUE((*index)->CheckSums().ok());
  EXPECT_EQ((*index)->Find({1, 2})->count(), 2);
  EXPECT_EQ((*index)->Find({})->count(), 8);
  EXPECT_EQ((*index)->LongestMatch({0, 0, 1}, 1, 16)->length, 2);
}

}  // namespace
}  // namespace banyan
