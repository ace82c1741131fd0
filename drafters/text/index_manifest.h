// The format of a corpus index: a folder that `banyan make index` writes
// (experiments/makers/index) and the drafter rest reads (corpus_index.h).
//
//   index.json      what the folder holds, as below
//   000.tokens      the tokens of shard 0, `token_bytes` each, big-endian
//   000.suffixes    its suffix array: 4 bytes each, little-endian
//   001.tokens ...
//
// After the tokens of each document stands a separator, all of whose bits are
// set and which no token is. An entry of the suffix array is the number of a
// token in the shard, from 0. There is an entry for each token, and none for a
// separator; they are in the order of what begins there, token by token and on
// through the rest of the shard. Since tokens are big-endian and the shard ends
// with a separator, that is the order of the bytes.
//
// index.json holds `format` ("banyan corpus index"), `version` (2),
// `tokenizer`, `vocab_size`, `token_bytes`, `shard_tokens` and `shards`, as
// IndexManifest and IndexShard say, and `manifest_fnv1a`, the FNV-1a of the
// same text without that key, so that no shard is taken out and no number
// changed unseen. A shard's files are written under another
// name, synced and renamed; then the manifest is, as building.json. What is
// under way is all that building.json names, whatever else stands there. When
// the last shard is written building.json is renamed to index.json.
#ifndef BANYAN_DRAFTERS_TEXT_INDEX_MANIFEST_H_
#define BANYAN_DRAFTERS_TEXT_INDEX_MANIFEST_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"

namespace banyan {

// Sums of a file's extents, so that a part of a large file can be checked when
// it is first read.

// A search meets a new extent in most of its first steps, and then none: small
// enough that the first searches do not stall, large enough that sums are a
// four-thousandth of the files.
inline constexpr std::size_t kExtentBytes = std::size_t{1} << 16;

// FNV-1a of each extent, sixteen digits of base 16, one after the other.
std::string ExtentSums(absl::Span<const std::byte> file);
// How many characters that are.
std::size_t ExtentSumsSize(std::size_t file_bytes);

// Any number of threads may use one at once.
class CheckedExtents {
 public:
  CheckedExtents() = default;
  // `sums` are ExtentSums of the file as it was written.
  CheckedExtents(std::string path, std::string sums);

  // DataLoss, which names file and bytes, if an extent of `size` bytes of
  // `file` from `offset` on was changed. Each extent is read once, by the first
  // to ask for it; bytes beyond the file are none.
  absl::Status Check(absl::Span<const std::byte> file, std::size_t offset,
                     std::size_t size) const;

 private:
  absl::Status CheckOne(absl::Span<const std::byte> file,
                        std::size_t extent) const;

  std::string path_;
  std::string sums_;
  std::unique_ptr<std::atomic<bool>[]> is_whole_;  // by extent
};

struct IndexShard {
  std::int64_t tokens = 0;    // of NNN.tokens, with separators
  std::int64_t suffixes = 0;  // of NNN.suffixes: the tokens without
  // FNV-1a of the two files' bytes, as sixteen digits (core/base/bytes.h).
  std::string tokens_fnv1a;
  std::string suffixes_fnv1a;
  // And of their extents.
  std::string tokens_extents;
  std::string suffixes_extents;
  // Where it ends in the corpus, for a build that goes on: documents that are
  // whole in it and the shards before, and tokens of the next that are in too.
  std::int64_t documents = 0;
  std::int64_t cut = 0;
  // FNV-1a of the texts of all documents so far, a cut one too, with a byte ff
  // after each.
  std::string text_fnv1a;
};

struct IndexManifest {
  // The name of the tokenizer's tokens (core/tokenizer/vocabulary.h); empty:
  // unknown.
  std::string tokenizer;
  int vocab_size = 0;   // all tokens are below
  int token_bytes = 2;  // 2 or 4
  // The most tokens of a shard, with separators.
  std::int64_t shard_tokens = 0;
  std::vector<IndexShard> shards;

  // Of all shards.
  std::int64_t tokens() const;  // without separators
  std::int64_t bytes() const;   // of tokens and suffixes
};

inline constexpr std::size_t kSuffixBytes = 4;
inline constexpr absl::string_view kIndexFile = "index.json";
inline constexpr absl::string_view kBuildingFile = "building.json";

// The paths of a shard's files.
std::string TokensPath(const std::string& folder, std::size_t shard);
std::string SuffixesPath(const std::string& folder, std::size_t shard);

// How many bytes a token of such a vocabulary takes: the separator is none.
int TokenBytesFor(int vocab_size);

// The text of a manifest's file.
std::string ToJson(const IndexManifest& manifest);

// Reads FOLDER/`file`. NotFound if there is none; InvalidArgument, which names
// the file, the key, what was found and what was expected, if it is not as
// above or of another version.
absl::StatusOr<IndexManifest> ReadIndexManifest(const std::string& folder,
                                                absl::string_view file);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_INDEX_MANIFEST_H_
