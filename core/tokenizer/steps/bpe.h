// Byte-pair encoding: the section `model` of tokenizer.json.
//
// Algorithm. A piece is cut into characters. A character that the vocabulary
// lacks becomes its bytes as <0xHH> tokens if `byte_fallback` is set and it has
// them all, else `unk_token` (runs of them one, if `fuse_unk` is set). Then the
// neighbours whose merge has the lowest rank become one, the leftmost first,
// until no two neighbours have a merge. With `ignore_merges` a piece that is
// itself in the vocabulary is taken whole.
//
// The pairs wait in a heap by (rank, place) and the symbols hang in a linked
// list: O(n log n) for n characters. A pair that a merge nearby has broken is
// known by its rank, and passed over when it comes up.
//
// Not covered, and refused: dropout, prefixes and suffixes of parts of words,
// and the models Unigram, WordPiece and WordLevel.
//
// Reference: Sennrich, Haddow and Birch 2016, "Neural machine translation of
// rare words with subword units", algorithm 1.
#ifndef BANYAN_CORE_TOKENIZER_STEPS_BPE_H_
#define BANYAN_CORE_TOKENIZER_STEPS_BPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/json/flat_map.h"
#include "core/json/json_value.h"

namespace banyan {

// Ids reach from 0 to below this, so that a table by id stays small: the
// largest published vocabularies have a million tokens.
inline constexpr std::int64_t kMaxTokenIds = std::int64_t{1} << 20;

class Bpe {
 public:
  using Vocabulary = FlatMap<std::string, TokenId>;

  // With `is_byte_level` the characters of pieces stand for bytes
  // (both_ways.h), which is what errors then name.
  static absl::StatusOr<Bpe> FromJson(const JsonAt& json, bool is_byte_level);

  const Vocabulary& vocabulary() const { return vocabulary_; }

  // Appends the ids of `piece`. Requires UTF-8. Fails with InvalidArgument on
  // a character that can be written in no way; `out` then has lost nothing.
  absl::Status Encode(absl::string_view piece, std::vector<TokenId>& out) const;

 private:
  struct Merge {
    std::int32_t rank = 0;
    TokenId merged = 0;
  };
  class Merging;

  absl::Status ReadVocabulary(const JsonAt& json);
  absl::Status ReadUnknown(const JsonAt& json);
  absl::Status ReadMerges(const JsonAt& json);
  absl::Status AddMerge(const JsonAt& item, std::size_t rank);
  void FindByteTokens();
  absl::Status Characters(absl::string_view piece,
                          std::vector<TokenId>& out) const;
  bool AppendBytes(absl::string_view character,
                   std::vector<TokenId>& out) const;
  absl::Status CannotWrite(absl::string_view character) const;
  const Merge* FindMerge(TokenId left, TokenId right) const;

  Vocabulary vocabulary_;
  FlatMap<std::uint64_t, Merge> merges_;  // by both ids
  bool is_byte_level_ = false;
  bool byte_fallback_ = false;
  std::vector<std::optional<TokenId>> byte_tokens_;  // 256
  std::optional<TokenId> unknown_;
  bool fuse_unknown_ = false;
  bool ignore_merges_ = false;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_STEPS_BPE_H_
