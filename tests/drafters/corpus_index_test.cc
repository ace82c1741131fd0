// The reader against a plain search of all documents, and against files that
// are not what was written.
#include "drafters/corpus_index.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/types/span.h"
#include "core/base/fnv1a.h"
#include "core/base/token.h"
#include "drafters/extent_sums.h"
#include "drafters/index_manifest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/checkpoint/files.h"
#include "tests/support/made_index.h"
#include "tests/support/mix.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kAll = 1 << 20;  // more places than any test has

// What begins at the places of `string`, without it, up to `depth` tokens;
// sorted.
std::vector<MadeDocument> PlainAfter(const std::vector<MadeDocument>& documents,
                                     const MadeDocument& string, int depth) {
  std::vector<MadeDocument> found;
  for (const MadeDocument& document : documents) {
    const absl::Span<const TokenId> text = document;
    for (std::size_t at = 0; at < text.size(); ++at)
      if (text.subspan(at, string.size()) == absl::MakeConstSpan(string)) {
        const auto after =
            text.subspan(at + string.size(), static_cast<std::size_t>(depth));
        found.emplace_back(after.begin(), after.end());
      }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<MadeDocument> PassagesOf(const CorpusPassages& passages) {
  std::vector<MadeDocument> found;
  std::size_t begin = 0;
  for (const std::size_t end : passages.ends) {
    found.emplace_back(
        passages.tokens.begin() + static_cast<std::ptrdiff_t>(begin),
        passages.tokens.begin() + static_cast<std::ptrdiff_t>(end));
    begin = end;
  }
  return found;
}

std::vector<MadeDocument> Sorted(std::vector<MadeDocument> documents) {
  std::sort(documents.begin(), documents.end());
  return documents;
}

// All strings of up to `length` of the letters, the empty one first.
std::vector<MadeDocument> Strings(const MadeDocument& letters,
                                  std::size_t length) {
  std::vector<MadeDocument> strings = {{}};
  for (std::size_t i = 0; i < strings.size(); ++i) {
    if (strings[i].size() == length) break;
    for (const TokenId letter : letters) {
      MadeDocument longer = strings[i];
      longer.push_back(letter);
      strings.push_back(std::move(longer));
    }
  }
  return strings;
}

struct Case {
  std::string name;
  MadeDocument letters;
  int vocab_size;
  std::int64_t shard_tokens;
  std::size_t shards;
};

// Numbers whose bytes are not in the order of the numbers if read the wrong way
// round, and the largest that their width has.
const std::vector<Case>& Cases() {
  static const auto& cases = *new std::vector<Case>{
      {"two_bytes", {1, 256, 65'534}, 65'535, 0, 1},
      {"four_bytes", {255, 256, 65'535}, 65'536, 0, 1},
      {"two_shards", {0, 1, 2}, 3, 200, 2},
      {"many_shards", {2, 255, 69'999}, 70'000, 9, 40},
  };
  return cases;
}

class EveryIndex : public testing::TestWithParam<Case> {
 protected:
  // No document is longer than the smallest shard.
  EveryIndex()
      : documents_(RandomDocuments(GetParam().letters, 70, 8)),
        index_(MustBuildIndex(folder_.path(), documents_,
                              {.vocab_size = GetParam().vocab_size,
                               .shard_tokens = GetParam().shard_tokens})) {}

  const TestFolder folder_;
  std::vector<MadeDocument> documents_;
  std::unique_ptr<CorpusIndex> index_;
};

TEST_P(EveryIndex, FindsEveryShortStringWhereItStandsAndWhatComesAfterIt) {
  if (GetParam().shards <= 2)
    ASSERT_EQ(index_->manifest().shards.size(), GetParam().shards);
  else
    ASSERT_GE(index_->manifest().shards.size(), GetParam().shards);
  int found = 0, missing = 0;
  for (const MadeDocument& string : Strings(GetParam().letters, 4)) {
    SCOPED_TRACE(testing::PrintToString(string));
    const auto expected = PlainAfter(documents_, string, 3);
    const auto places = index_->Find(string);
    ASSERT_TRUE(places.ok()) << places.status();
    EXPECT_EQ(places->count(), expected.size());
    ++(expected.empty() ? missing : found);
    const CorpusMatch match = {.length = static_cast<int>(string.size()),
                               .places = *places};
    const auto after = index_->After(match, 3, kAll);
    ASSERT_TRUE(after.ok()) << after.status();
    EXPECT_EQ(after->weight, 1);
    EXPECT_EQ(Sorted(PassagesOf(*after)), expected);
  }
  EXPECT_GT(found, 80);
  EXPECT_GT(missing, 0);
}

TEST_P(EveryIndex, FindsTheLongestSuffixOfAText) {
  std::map<int, int> lengths;
  for (const MadeDocument& text : RandomDocuments(GetParam().letters, 200, 9)) {
    SCOPED_TRACE(testing::PrintToString(text));
    for (const auto& [shortest, longest] :
         {std::pair(1, 16), std::pair(2, 5), std::pair(3, 3)}) {
      const auto match = index_->LongestMatch(text, shortest, longest);
      ASSERT_TRUE(match.ok()) << match.status();
      int expected = 0;
      std::int64_t count = 0;
      for (int length = shortest;
           length <= longest && length <= static_cast<int>(text.size());
           ++length) {
        auto after =
            PlainAfter(documents_, {text.end() - length, text.end()}, 1);
        std::erase(after, MadeDocument{});  // where a document ends
        if (after.empty()) continue;
        expected = length;
        count = static_cast<std::int64_t>(after.size());
      }
      EXPECT_EQ(match->length, expected);
      EXPECT_EQ(match->places.count(), count);
      const auto after = index_->After(*match, 1, kAll);
      ASSERT_TRUE(after.ok()) << after.status();
      EXPECT_EQ(after->tokens.size(), static_cast<std::size_t>(count));
      if (shortest == 1) ++lengths[match->length];
    }
  }
  EXPECT_GT(lengths[3], 10);
  EXPECT_GT(lengths[5], 3);
}

TEST_P(EveryIndex, FindsNothingThatNoTokenIs) {
  const int vocab_size = index_->manifest().vocab_size;
  const TokenId letter = GetParam().letters.front();
  for (const TokenId none : {-1, vocab_size, 0xffff, 0x7fffffff}) {
    if (none > 0 && none < vocab_size) continue;
    for (const MadeDocument& string :
         {MadeDocument{none}, MadeDocument{letter, none},
          MadeDocument{none, letter}}) {
      const auto places = index_->Find(string);
      ASSERT_TRUE(places.ok()) << places.status();
      EXPECT_EQ(places->count(), 0);
      EXPECT_EQ(places->shards.size(), index_->manifest().shards.size());
    }
    const auto match = index_->LongestMatch({none, letter}, 1, 16);
    ASSERT_TRUE(match.ok()) << match.status();
    EXPECT_EQ(match->length, 1);
  }
}

TEST_P(EveryIndex, GivesEveryContinuationItsShareOfFewPlaces) {
  const auto letter = MadeDocument{GetParam().letters[1]};
  const auto places = index_->Find(letter);
  ASSERT_TRUE(places.ok()) << places.status();
  const auto all = static_cast<double>(places->count());
  std::map<MadeDocument, int> counts;
  for (const MadeDocument& after : PlainAfter(documents_, letter, 2))
    ++counts[after];
  for (const int most : {1, 2, 7, 30, 60}) {
    const auto after = index_->After({1, *places}, 2, most);
    ASSERT_TRUE(after.ok()) << after.status();
    EXPECT_EQ(after->ends.size(), static_cast<std::size_t>(most));
    EXPECT_DOUBLE_EQ(after->weight, all / most);
    std::map<MadeDocument, int> sampled;
    for (const MadeDocument& passage : PassagesOf(*after)) ++sampled[passage];
    for (const auto& [passage, count] : counts) {
      const double share = count * most / all;
      EXPECT_LE(std::abs(sampled[passage] - share),
                static_cast<double>(places->shards.size()))
          << most << " of " << all << ": " << testing::PrintToString(passage);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Corpora, EveryIndex, testing::ValuesIn(Cases()),
                         [](const auto& each) { return each.param.name; });

TEST(CorpusIndex, CountsTheSameWhateverTheShards) {
  const std::vector<MadeDocument> documents = RandomDocuments({0, 1}, 60, 20);
  const TestFolder one, many;
  const auto whole = MustBuildIndex(one.path(), documents, {.vocab_size = 2});
  const auto cut = MustBuildIndex(many.path(), documents,
                                  {.vocab_size = 2, .shard_tokens = 21});
  ASSERT_GT(cut->manifest().shards.size(), 20U);
  EXPECT_EQ(cut->manifest().tokens(), whole->manifest().tokens());
  for (const MadeDocument& string : Strings({0, 1}, 6))
    EXPECT_EQ(cut->Find(string)->count(), whole->Find(string)->count());
}

TEST(CorpusIndex, NoMatchSpansDocumentsNorTheEndOfAShard) {
  const TestFolder folder;
  // The last is longer than a shard, which holds five tokens and a separator.
  const auto index =
      MustBuildIndex(folder.path(), {{0, 1}, {}, {2}, {0, 1, 2, 3, 4, 5, 6}},
                     {.vocab_size = 7, .shard_tokens = 6});
  EXPECT_EQ(index->manifest().shards.size(), 3U);
  EXPECT_EQ(index->Find({0, 1})->count(), 2);
  EXPECT_EQ(index->Find({1, 2})->count(), 1);
  EXPECT_EQ(index->Find({2, 0})->count(), 0);
  EXPECT_EQ(index->Find({3, 4})->count(), 1);
  EXPECT_EQ(index->Find({4, 5})->count(), 0);  // cut
  EXPECT_EQ(index->Find({5, 6})->count(), 1);
  const auto match = index->LongestMatch({9, 0, 1}, 1, 16);
  ASSERT_TRUE(match.ok()) << match.status();
  EXPECT_EQ(match->length, 2);
  EXPECT_THAT(PassagesOf(*index->After(*match, 9, kAll)),
              ElementsAre(MadeDocument{2, 3, 4}));
  const CorpusMatch all = {.length = 2, .places = *index->Find({0, 1})};
  EXPECT_THAT(PassagesOf(*index->After(all, 9, kAll)),
              ElementsAre(MadeDocument{}, MadeDocument{2, 3, 4}));
}

TEST(CorpusIndex, OfDocumentsOfOneToken) {
  const TestFolder folder;
  const auto index = MustBuildIndex(folder.path(), {{1}, {0}, {1}, {1}},
                                    {.vocab_size = 2, .shard_tokens = 2});
  EXPECT_EQ(index->manifest().shards.size(), 4U);
  EXPECT_EQ(index->Find({1})->count(), 3);
  EXPECT_EQ(index->Find({0})->count(), 1);
  EXPECT_EQ(index->Find({1, 1})->count(), 0);
  EXPECT_EQ(index->LongestMatch({0, 1, 1}, 2, 16)->length, 0);
  EXPECT_TRUE(index->After({}, 5, kAll)->ends.empty());
}

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
  std::string text = folder_.Read("index.json");
  const std::size_t list = text.find("\"shards\": [");
  ASSERT_NE(list, std::string::npos);
  folder_.Write("index.json", text.substr(0, list) + "\"shards\": []}");
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

TEST(CheckedExtents, ReadsEachExtentOnceAndNoOther) {
  std::string file(2 * kExtentBytes + 10, 'a');
  const CheckedExtents extents("FILE", ExtentSums(BytesOf(file)));
  const auto check = [&](std::size_t offset, std::size_t size) {
    return extents.Check(BytesOf(file), offset, size);
  };
  EXPECT_TRUE(check(10, 4).ok());
  file[0] = 'b';
  EXPECT_TRUE(check(0, 4).ok()) << "it was read before";
  file[2 * kExtentBytes] = 'b';
  EXPECT_TRUE(check(kExtentBytes, kExtentBytes).ok());
  const absl::Status failed = check(2 * kExtentBytes - 1, 2);
  EXPECT_TRUE(absl::IsDataLoss(failed));
  EXPECT_THAT(std::string(failed.message()),
              HasSubstr("FILE: the file was changed: expected bytes 131072 to "
                        "131081 "));
  EXPECT_FALSE(check(file.size() - 1, 100).ok()) << "nothing lies beyond it";
  EXPECT_TRUE(check(file.size(), 0).ok());
}

// Where even the sums fit: what is no place and what is no token.
TEST_F(DamagedIndex, FailsWhereAnEntryIsNoPlaceOrATokenIsNone) {
  for (std::size_t entry = 0; entry < 6; ++entry) {
    Flip("000.suffixes", 4 * entry + 3, static_cast<char>(0x80));
    SumAgain();
    const auto index = CorpusIndex::Open(folder_.path());
    ASSERT_TRUE(index.ok()) << index.status();
    absl::Status failed;
    for (const MadeDocument& string : Strings({0, 1, 2}, 2)) {
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
