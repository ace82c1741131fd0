// Building corpus indices: the bytes of the format, going on after an end at
// any shard, and everything that a build is refused or ended by.
#include "experiments/makers/index/index_builder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "drafters/text/corpus_index.h"
#include "drafters/text/index_manifest.h"
#include "experiments/makers/index/sort_suffixes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/core/checkpoint/files.h"
#include "tests/support/few_bytes.h"
#include "tests/support/made/made_index.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// What stands in a folder, by name.
std::map<std::string, std::string> FilesOf(const TestFolder& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const std::string name = entry.path().filename().string();
    files[name] = folder.Read(name);
  }
  return files;
}

std::string Hex(const std::string& bytes) {
  return absl::StrFormat("%016x", Fnv1a(bytes));
}

TEST(IndexBuilder, WritesTheFormatToTheByte) {
  const TestFolder folder;
  const auto built = TryBuildIndex(folder.path(), {{0, 1}, {}, {256}},
                                   {.tokenizer = "name", .vocab_size = 257});
  ASSERT_TRUE(built.ok()) << built.status();
  const std::string tokens("\0\0\0\1\xff\xff\1\0\xff\xff", 10);
  const std::string suffixes("\0\0\0\0\1\0\0\0\3\0\0\0", 12);
  const auto files = FilesOf(folder);
  EXPECT_EQ(files.at("000.tokens"), tokens);
  EXPECT_EQ(files.at("000.suffixes"), suffixes);
  EXPECT_EQ(files.size(), 3U);
  const nlohmann::json shard = {{"tokens", 5},
                                {"suffixes", 3},
                                {"documents", 3},
                                {"cut", 0},
                                {"tokens_fnv1a", Hex(tokens)},
                                {"suffixes_fnv1a", Hex(suffixes)},
                                {"tokens_extents", Hex(tokens)},
                                {"suffixes_extents", Hex(suffixes)},
                                {"text_fnv1a", Hex("0,1\xff\xff"
                                                   "256\xff")}};
  nlohmann::json found = nlohmann::json::parse(files.at("index.json"));
  EXPECT_EQ(found.at("manifest_fnv1a").get<std::string>().size(), 16U);
  found.erase("manifest_fnv1a");
  const nlohmann::json expected = {{"format", "banyan corpus index"},
                                   {"version", 2},
                                   {"tokenizer", "name"},
                                   {"vocab_size", 257},
                                   {"token_bytes", 2},
                                   {"shard_tokens", 200'000'000},
                                   {"shards", {shard}}};
  EXPECT_EQ(found, expected);
  EXPECT_EQ(built->tokens(), 3);
  EXPECT_EQ(built->bytes(), 22);
}

TEST(IndexBuilder, TakesFourBytesATokenWhereTwoAreTooFew) {
  const TestFolder folder;
  const auto built =
      TryBuildIndex(folder.path(), {{65'535, 1}}, {.vocab_size = 65'536});
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(folder.Read("000.tokens"),
            std::string("\0\0\xff\xff\0\0\0\1\xff\xff\xff\xff", 12));
  EXPECT_EQ(folder.Read("000.suffixes"), std::string("\1\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(built->shard_tokens, 100'000'000);
  EXPECT_EQ(TokenBytesFor(65'535), 2);
}

TEST(IndexBuilder, SortsADefaultShardInLessThanTwoGiB) {
  for (const int width : {2, 4}) {
    const std::int64_t bytes = DefaultShardTokens(width) * width;
    EXPECT_LT(bytes + bytes * kSortBytes, std::int64_t{2} << 30);
    EXPECT_LE(DefaultShardTokens(width), MostShardTokens(width));
  }
}

// Many documents in shards of at most 40 tokens; some are longer, and one as
// long as several.
class Resumed : public testing::Test {
 protected:
  Resumed() : documents_(RandomDocuments({0, 1, 2, 300}, 14, 30)) {
    documents_[5] = MadeDocument(117, 1);  // three times 39
    documents_[9] = MadeDocument(100, 2);
    const auto built = TryBuildIndex(whole_.path(), documents_, options_);
    EXPECT_TRUE(built.ok()) << built.status();
    shards_ = built->shards.size();
  }
  absl::StatusOr<std::unique_ptr<IndexBuilder>> Open() const {
    return IndexBuilder::Open(folder_.path(), options_);
  }
  // Adds documents until there are `shards` shards, then stops as if killed.
  void BuildUpTo(std::size_t shards) const {
    const auto builder = Open();
    ASSERT_TRUE(builder.ok()) << builder.status();
    for (const MadeDocument& document : documents_) {
      ASSERT_TRUE(AddDocument(**builder, document).ok());
      const auto so_far = ReadIndexManifest(folder_.path(), "building.json");
      ASSERT_TRUE(so_far.ok()) << so_far.status();
      if (so_far->shards.size() >= shards) return;
    }
    FAIL() << "no end at " << shards;
  }
  std::string Path(const std::string& name) const {
    return folder_.path() + "/" + name;
  }
  // Of a build by these options and documents.
  void ExpectRefused(const IndexBuilderOptions& options,
                     const std::vector<MadeDocument>& documents,
                     const std::string& reason) const {
    const auto before = FilesOf(folder_);
    const auto built = TryBuildIndex(folder_.path(), documents, options);
    EXPECT_TRUE(absl::IsInvalidArgument(built.status())) << built.status();
    EXPECT_THAT(std::string(built.status().message()), HasSubstr(reason));
    EXPECT_EQ(FilesOf(folder_), before);
  }

  const IndexBuilderOptions options_ = {
      .tokenizer = "name", .vocab_size = 301, .shard_tokens = 40};
  std::vector<MadeDocument> documents_;
  const TestFolder whole_;   // an undisturbed build
  const TestFolder folder_;  // the one under way
  std::size_t shards_ = 0;
};

TEST_F(Resumed, GivesTheSameBytesFromEveryShardOn) {
  ASSERT_GT(shards_, 9U);
  const auto expected = FilesOf(whole_);
  // What a kill leaves of the shard under way, and more.
  const std::string half = absl::StrFormat("%03d.tokens", shards_);
  std::size_t cut = 0;
  for (std::size_t shards = 1; shards < shards_; ++shards) {
    SCOPED_TRACE(shards);
    BuildUpTo(shards);
    folder_.Write(half, "half a fi");
    folder_.Write("building.json.partial", "{");
    if (ReadIndexManifest(folder_.path(), kBuildingFile)->shards.back().cut > 0)
      ++cut;
    const auto built = TryBuildIndex(folder_.path(), documents_, options_);
    ASSERT_TRUE(built.ok()) << built.status();
    std::filesystem::remove(Path(half));
    EXPECT_EQ(FilesOf(folder_), expected);
    for (const auto& [name, text] : expected)
      std::filesystem::remove(Path(name));
  }
  EXPECT_GT(cut, 2U);
}

TEST_F(Resumed, BeginsAgainWhereNoShardWasFinished) {
  std::string list;
  {
    const auto builder = Open();
    ASSERT_TRUE(builder.ok()) << builder.status();
    list = folder_.Read("building.json");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  folder_.Write("building.json", list);
  folder_.Write("000.tokens", "half a fi");
  // With other options too: there is nothing to lose.
  IndexBuilderOptions options = options_;
  options.tokenizer = "other";
  const auto built = TryBuildIndex(folder_.path(), documents_, options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(folder_.Read("000.tokens"), whole_.Read("000.tokens"));
  EXPECT_EQ(built->tokenizer, "other");
}

TEST_F(Resumed, AsksForNoTokensThatAreThere) {
  BuildUpTo(4);
  const auto builder = Open();
  ASSERT_TRUE(builder.ok()) << builder.status();
  const std::size_t before = (*builder)->shards_before();
  EXPECT_GE(before, 4U);
  const IndexShard last =
      ReadIndexManifest(folder_.path(), "building.json")->shards[before - 1];
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < documents_.size(); ++i) {
    bool asked = false;
    const auto added = (*builder)->Add(absl::StrJoin(documents_[i], ","), [&] {
      asked = true;
      return absl::StatusOr<std::vector<TokenId>>(documents_[i]);
    });
    ASSERT_TRUE(added.ok()) << added;
    EXPECT_EQ(asked, static_cast<std::int64_t>(i) >= last.documents) << i;
    if (asked) tokens += static_cast<std::int64_t>(documents_[i].size());
  }
  EXPECT_EQ((*builder)->new_tokens(), tokens - last.cut);
}

TEST_F(Resumed, RefusesOtherOptions) {
  BuildUpTo(3);
  IndexBuilderOptions other = options_;
  other.shard_tokens = 41;
  ExpectRefused(other, documents_,
                Path("building.json") +
                    ": shard_tokens: expected this run's "
                    "41, found 40");
  other = options_;
  other.vocab_size = 302;
  ExpectRefused(other, documents_, ": vocab_size: expected this run's 302");
  other = options_;
  other.tokenizer = "other";
  ExpectRefused(other, documents_,
                ": tokenizer: expected this run's other, found name");
}

TEST_F(Resumed, RefusesOtherTexts) {
  BuildUpTo(3);
  std::vector<MadeDocument> other = documents_;
  other.front().push_back(1);
  ExpectRefused(options_, other,
                Path("building.json") + ": shards[0].text_fnv1a: expected");
  // Not where one text ends and the next begins.
  other = documents_;
  other[0].insert(other[0].end(), other[1].begin(), other[1].end());
  other.erase(other.begin() + 1);
  ExpectRefused(options_, other, ".text_fnv1a: expected");
  ExpectRefused(options_, {documents_[0]},
                "].documents: expected this run's no more than 1, found");
}

TEST_F(Resumed, RefusesAFinishedShardThatWasChanged) {
  BuildUpTo(3);
  const std::string bytes = folder_.Read("001.suffixes");
  std::string changed = bytes;
  std::swap(changed[0], changed[4]);
  folder_.Write("001.suffixes", changed);
  absl::Status status = Open().status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(Path("001.suffixes") + ": "),
                    HasSubstr("expected"), HasSubstr("found")));
  folder_.Write("001.suffixes", bytes.substr(1));
  status = Open().status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(" bytes, as the index"));
  // Refused, nothing was lost.
  folder_.Write("001.suffixes", bytes);
  const auto built = TryBuildIndex(folder_.path(), documents_, options_);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(FilesOf(folder_), FilesOf(whole_));
}

TEST_F(Resumed, RefusesAFileThatIsNoneOfTheIndex) {
  BuildUpTo(3);
  folder_.Write("thesis.txt", "years of work");
  ExpectRefused(options_, documents_,
                folder_.path() +
                    ": expected the files of an index under way, found thesis");
}

// Before the shards after it are written.
TEST_F(Resumed, RefusesAChangedListAtOnce) {
  BuildUpTo(3);
  std::string text = folder_.Read("building.json");
  const std::size_t at = text.find("\"documents\": ");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, text.find(',', at) - at, "\"documents\": 0");
  folder_.Write("building.json", text);
  ExpectRefused(options_, documents_, Path("building.json") + ": shards[0].");
}

TEST_F(Resumed, RefusesATornList) {
  BuildUpTo(3);
  const std::string text = folder_.Read("building.json");
  folder_.Write("building.json", text.substr(0, text.size() - 9));
  ExpectRefused(options_, documents_, Path("building.json") + ":");
}

TEST_F(Resumed, KeepsASecondBuilderOut) {
  const auto first = Open();
  ASSERT_TRUE(first.ok()) << first.status();
  for (int i = 0; i < 9; ++i)
    ASSERT_TRUE(
        AddDocument(**first, documents_[static_cast<std::size_t>(i)]).ok());
  const auto before = FilesOf(folder_);
  const absl::Status status = Open().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr(folder_.path() + ": another run is building this index"));
  EXPECT_EQ(FilesOf(folder_), before);
  for (std::size_t i = 9; i < documents_.size(); ++i)
    ASSERT_TRUE(AddDocument(**first, documents_[i]).ok());
  ASSERT_TRUE((*first)->Finish().ok());
  EXPECT_EQ(FilesOf(folder_), FilesOf(whole_));
}

TEST(IndexBuilder, LosesNothingOnAFullDisk) {
  // A shard each: tokens of 62 bytes, suffixes of 120, a list of more.
  const std::vector<MadeDocument> documents(5, MadeDocument(30, 1));
  const IndexBuilderOptions options = {.vocab_size = 2, .shard_tokens = 31};
  const TestFolder whole;
  ASSERT_TRUE(TryBuildIndex(whole.path(), documents, options).ok());
  for (const auto& [bytes, name] :
       {std::pair(50, "001.tokens"), std::pair(100, "001.suffixes"),
        std::pair(130, "building.json")}) {
    SCOPED_TRACE(name);
    const TestFolder folder;
    absl::Status status;
    {
      const auto builder = IndexBuilder::Open(folder.path(), options);
      ASSERT_TRUE(builder.ok()) << builder.status();
      for (int i = 0; i < 2; ++i)  // the second is to be written
        ASSERT_TRUE(AddDocument(**builder, documents[0]).ok());
      const FewBytes few(static_cast<rlim_t>(bytes));
      status = AddDocument(**builder, documents[0]);
      EXPECT_EQ(AddDocument(**builder, {1}), status);
      EXPECT_EQ((*builder)->Finish().status(), status);
    }
    EXPECT_TRUE(absl::IsInternal(status)) << status;
    EXPECT_EQ(status.message(),
              absl::StrCat(folder.path(), "/", name, ": File too large"));
    for (const auto& [file, text] : FilesOf(folder))
      EXPECT_THAT(file, testing::Not(HasSubstr(".part")));
    const auto kept = CorpusIndex::Open(folder.path(), kBuildingFile);
    ASSERT_TRUE(kept.ok()) << kept.status();
    EXPECT_EQ((*kept)->manifest().shards.size(), 1U);
    EXPECT_TRUE((*kept)->CheckSums().ok());
    const auto built = TryBuildIndex(folder.path(), documents, options);
    ASSERT_TRUE(built.ok()) << built.status();
    EXPECT_EQ(FilesOf(folder), FilesOf(whole));
  }
}

TEST_F(Resumed, AsksForTheRoomOfAShardBeforeItIsSorted) {
  IndexBuilderOptions options = options_;
  std::int64_t free = 1'500;
  std::size_t sorted = 0;
  options.free_bytes = [&](const std::string& folder) {
    EXPECT_EQ(folder, folder_.path());
    return free -= 200;
  };
  options.on_sort = [&](std::size_t shard, std::int64_t tokens) {
    EXPECT_EQ(shard, sorted++);
    EXPECT_LE(tokens, 40);
  };
  const auto built = TryBuildIndex(folder_.path(), documents_, options);
  EXPECT_TRUE(absl::IsResourceExhausted(built.status())) << built.status();
  EXPECT_THAT(std::string(built.status().message()),
              AllOf(HasSubstr(folder_.path() + ": shard "),
                    HasSubstr(" takes 0.0 MB, and the disk has 0.0 MB free"),
                    HasSubstr(absl::StrCat("after the ", sorted, " shards"))));
  EXPECT_GT(sorted, 3U);
  const auto again = TryBuildIndex(folder_.path(), documents_, options_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(FilesOf(folder_), FilesOf(whole_));
}

TEST_F(Resumed, SaysHowMuchRoomTokensTake) {
  IndexBuilderOptions options = options_;
  options.free_bytes = [](const std::string& /*folder*/) { return 600'000; };
  const auto builder = IndexBuilder::Open(folder_.path(), options);
  ASSERT_TRUE(builder.ok()) << builder.status();
  EXPECT_TRUE((*builder)->RequireSpace("it takes", 100'000).ok());
  const absl::Status status = (*builder)->RequireSpace("it takes", 150'000);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(": it takes 0.9 MB, and the disk has 0.6 MB free"));
}

TEST_F(Resumed, IsNotBegunAgainWhenItIsWhole) {
  const auto before = FilesOf(whole_);
  const auto built = TryBuildIndex(whole_.path(), documents_, options_);
  EXPECT_TRUE(absl::IsAlreadyExists(built.status())) << built.status();
  EXPECT_THAT(
      std::string(built.status().message()),
      HasSubstr(whole_.path() + "/index.json: the index is whole: expected"));
  EXPECT_EQ(FilesOf(whole_), before);
}

TEST(IndexBuilder, LeavesWhatElseStandsInAFolder) {
  const TestFolder folder;
  folder.Write("thesis.txt", "years of work");
  const auto built = TryBuildIndex(folder.path(), {{1}}, {.vocab_size = 2});
  EXPECT_TRUE(absl::IsInvalidArgument(built.status())) << built.status();
  EXPECT_THAT(std::string(built.status().message()),
              HasSubstr(folder.path() +
                        ": expected an empty folder, or none, found thesis"));
  EXPECT_EQ(FilesOf(folder).size(), 1U);
  const std::string file = folder.path() + "/thesis.txt";
  EXPECT_THAT(
      std::string(
          TryBuildIndex(file, {{1}}, {.vocab_size = 2}).status().message()),
      HasSubstr(file + ": the folder cannot be made"));
}

TEST(IndexBuilder, LeavesNothingWhereItWroteNoShard) {
  const TestFolder folder;
  for (const std::string& path : {folder.path() + "/new", folder.path()}) {
    const auto none = TryBuildIndex(path, {{}, {}}, {.vocab_size = 2});
    EXPECT_TRUE(absl::IsInvalidArgument(none.status())) << none.status();
    EXPECT_THAT(std::string(none.status().message()),
                HasSubstr(path + ": expected a text, found no token"));
    for (const TokenId token : {2, -1, 0xffff}) {
      const auto outside =
          TryBuildIndex(path, {{0, 1}, {1, token}}, {.vocab_size = 2});
      EXPECT_TRUE(absl::IsInvalidArgument(outside.status()));
      EXPECT_THAT(std::string(outside.status().message()),
                  HasSubstr(absl::StrCat("token ", token,
                                         ", expected one of the vocabulary, 0 "
                                         "to 1")));
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  }
}

TEST(IndexBuilder, HandsOnWhatTokenizingFailsBy) {
  const TestFolder folder;
  const auto builder = IndexBuilder::Open(folder.path(), {.vocab_size = 2});
  ASSERT_TRUE(builder.ok()) << builder.status();
  const absl::Status failed =
      (*builder)->Add("x", []() -> absl::StatusOr<std::vector<TokenId>> {
        return absl::InvalidArgumentError("no text");
      });
  EXPECT_EQ(failed, absl::InvalidArgumentError("no text"));
}

TEST(SortSuffixes, AreThoseOfASort) {
  for (const std::size_t width : {std::size_t{2}, std::size_t{4}}) {
    for (const MadeDocument& document :
         RandomDocuments({0, 1, 255, 256}, 60, 90)) {
      std::string text;
      std::vector<std::size_t> expected;
      for (std::size_t i = 0; i <= document.size(); ++i) {
        // A document's end somewhere, and at the end.
        const bool ends = i == document.size() || i % 13 == 5;
        if (!ends) expected.push_back(i);
        for (std::size_t byte = width; byte > 0; --byte)
          text +=
              ends ? '\xff' : static_cast<char>(document[i] >> 8 * (byte - 1));
      }
      std::sort(expected.begin(), expected.end(),
                [&](std::size_t a, std::size_t b) {
                  return text.substr(a * width) < text.substr(b * width);
                });
      const auto sorted = SortSuffixes(Bytes(text), width);
      ASSERT_TRUE(sorted.ok()) << sorted.status();
      EXPECT_EQ(std::vector<std::size_t>(sorted->places.get(),
                                         sorted->places.get() + sorted->count),
                expected);
    }
  }
}

}  // namespace
}  // namespace banyan
