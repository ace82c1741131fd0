// The reader against a plain search of all documents, and against files that
// are not what was written.
#include "drafters/text/corpus_index.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "drafters/text/index_manifest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/checkpoint/files.h"
#include "tests/support/made/made_index.h"

namespace banyan {
namespace {

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
  for (const MadeDocument& string : StringsOf(GetParam().letters, 4)) {
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
  for (const MadeDocument& string : StringsOf({0, 1}, 6))
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

}  // namespace
}  // namespace banyan
