// CorpusIndex: finds where a string of tokens occurs in a corpus on disk, and
// what follows it there.
//
// Rule. A suffix array lists the places of a text in the order of what begins
// at them. So the places of a string are next to each other, and two binary
// searches find the first and the last. A corpus has one array per shard; the
// results of the shards are added up.
//   The longest suffix of a text that occurs in the corpus is found by a binary
// search over its length: where a string occurs, all its suffixes do. Places at
// which a document ends with the string are the last of its range, since
// nothing is greater than a separator. What comes after the string is sorted
// too: each continuation has one piece of the range, in the order of tokens. So
// K evenly spaced places of a range of R meet a continuation of c places at
// least cK/R - 1 and at most cK/R + 1 times per shard. If R <= K all are read,
// and the counts are exact.
//
// Cost. With n tokens, a string of m takes O(m log n), the longest of up to m
// O(m log m log n), and K continuations of depth d O(Kd). None depends on how
// often the string occurs.
//
// The files (index_manifest.h) are mapped: of the corpus, memory holds what was
// read, as long as the system has room. Opening reads index.json and the sizes
// of the other files and no more; CheckSums reads all. An extent is checked
// against its sum when a search first reads it: a search fails with DataLoss
// where its bytes were changed, where an entry of the array is no place of the
// text, and where a token is none.
#ifndef BANYAN_DRAFTERS_TEXT_CORPUS_INDEX_H_
#define BANYAN_DRAFTERS_TEXT_CORPUS_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/input_files.h"
#include "core/base/token.h"
#include "drafters/text/index_manifest.h"

namespace banyan {

// Entries of a suffix array: `begin` up to, not including, `end`.
struct SuffixRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Where a string stands: a range a shard.
struct CorpusPlaces {
  std::vector<SuffixRange> shards;

  std::int64_t count() const;
};

// A string that stands in the corpus. Length 0: none.
struct CorpusMatch {
  int length = 0;
  CorpusPlaces places;
};

// What comes after a string at some of its places, up to the end of the
// document; shard after shard, sorted in each.
struct CorpusPassages {
  std::vector<TokenId> tokens;    // one after the other
  std::vector<std::size_t> ends;  // where each ends in `tokens`
  double weight = 1;              // places that each stands for
};

// Any number of threads may use one at once. The files must not be changed
// while it is open; where one was cut short, CheckSums, Find, LongestMatch and
// After fail with DataLoss.
class CorpusIndex {
 public:
  // NotFound if there is no index, or only one that is being built;
  // InvalidArgument, which names the file, what was found and what was
  // expected, if it is not as index_manifest.h says: of another version, torn,
  // or with a file of another size.
  // `file` is kBuildingFile for the shards of one that is being built.
  static absl::StatusOr<std::unique_ptr<CorpusIndex>> Open(
      const std::string& folder, absl::string_view file = kIndexFile);

  const std::string& folder() const { return folder_; }
  const IndexManifest& manifest() const { return manifest_; }

  // InvalidArgument unless its tokens are those of a model: of its tokenizer's
  // name, where both are known, and within its vocabulary.
  absl::Status CheckFits(absl::string_view tokenizer, int vocab_size) const;

  // Reads all files: DataLoss, which names the file, unless they are as they
  // were written.
  absl::Status CheckSums() const;

  // All places of a string; the empty one is everywhere.
  absl::StatusOr<CorpusPlaces> Find(absl::Span<const TokenId> string) const;

  // The longest suffix of `text` of `shortest` to `longest` tokens after which
  // a token stands in the corpus, and where one does. Requires 1 <= shortest.
  absl::StatusOr<CorpusMatch> LongestMatch(absl::Span<const TokenId> text,
                                           int shortest, int longest) const;

  // The `depth` tokens after a match at no more than `most` of its places,
  // evenly spaced.
  absl::StatusOr<CorpusPassages> After(const CorpusMatch& match, int depth,
                                       int most) const;

 private:
  struct Shard {
    std::unique_ptr<MappedFile> tokens;
    std::unique_ptr<MappedFile> suffixes;
    CheckedExtents tokens_extents;
    CheckedExtents suffixes_extents;
  };
  // Places of a string, as the files have it; all, or those a token follows.
  struct Sought {
    std::vector<std::byte> key;
    bool followed = false;
  };

  CorpusIndex(std::string folder, IndexManifest manifest)
      : folder_(std::move(folder)), manifest_(std::move(manifest)) {}

  absl::Status OpenShard(std::size_t number);
  template <typename Result>
  Result Whole(Result read) const;
  // What the public functions return, of files that may be cut short.
  absl::Status ReadSums() const;
  absl::StatusOr<CorpusPlaces> ReadPlaces(
      absl::Span<const TokenId> string) const;
  absl::StatusOr<CorpusMatch> ReadLongestMatch(absl::Span<const TokenId> text,
                                               int shortest, int longest) const;
  absl::StatusOr<CorpusPassages> ReadAfter(const CorpusMatch& match, int depth,
                                           int most) const;
  // Of a shard, from 0: the place in its text that an entry of its array says.
  absl::StatusOr<std::size_t> PlaceAt(std::size_t shard,
                                      std::int64_t entry) const;
  // Returns how an entry compares to the places that are sought: below 0 if it
  // is before them, 0 if among them, above 0 if after them.
  absl::StatusOr<int> Order(std::size_t shard, std::int64_t entry,
                            const Sought& sought) const;
  // Returns the first entry of `range` that is not before the sought places or,
  // if `past`, that is after them.
  absl::StatusOr<std::int64_t> Bound(std::size_t shard, SuffixRange range,
                                     const Sought& sought, bool past) const;
  // Finds where the places begin, and a first one in each shard that has any.
  // Returns whether there is any.
  absl::StatusOr<bool> FindBegins(const Sought& sought,
                                  CorpusPlaces& places) const;
  absl::Status FindEnds(const Sought& sought, CorpusPlaces& places) const;
  // False if a token is outside the vocabulary: it is nowhere.
  bool Key(absl::Span<const TokenId> string, std::vector<std::byte>& key) const;
  // The tokens from a place on, up to a separator.
  absl::Status Append(std::size_t shard, std::size_t place, int depth,
                      CorpusPassages& out) const;

  std::string folder_;
  IndexManifest manifest_;
  std::vector<Shard> shards_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_CORPUS_INDEX_H_
