// The section `normalizer` of tokenizer.json: what is done to a text before it
// is cut. Known: null, Sequence, Prepend, Replace of a text, NFC, NFD, NFKC,
// NFKD, Strip.
#ifndef BANYAN_CORE_TOKENIZER_STEPS_NORMALIZER_H_
#define BANYAN_CORE_TOKENIZER_STEPS_NORMALIZER_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/json/json_value.h"

namespace banyan {

// What a text is on its way to token ids.
struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// A part of the text: an added token found in it, or text still to be cut. No
// piece is empty.
struct Piece {
  std::string text;
  bool at_start = false;  // it begins where the whole text begins
  std::optional<TokenId> token = std::nullopt;
  // Bytes of a chat's messages, in order and disjoint. No control token is
  // found in them.
  std::vector<ByteRange> quoted = {};
};

class Normalizer {
 public:
  // Refuses what it does not know, and sequences that could make a text more
  // than 64 times as long.
  static absl::StatusOr<Normalizer> FromJson(const JsonAt& json);

  // Requires UTF-8, and gives UTF-8. An empty text stays empty.
  absl::StatusOr<std::string> Normalize(absl::string_view text) const;

 private:
  using Step = std::function<absl::StatusOr<std::string>(absl::string_view)>;

  absl::Status Add(const JsonAt& json);
  absl::Status AddReplace(const JsonAt& json);

  std::vector<Step> steps_;
  double growth_ = 1;  // the most that the steps lengthen a text
};

// What a Replace of a text by a text says; normalizers and decoders have it.
struct Replacement {
  std::string pattern;
  std::string content;
};

// Reads it. Multiplies `growth` by the most it lengthens a text, and fails if
// that is then more than 64.
absl::StatusOr<Replacement> ReadReplacement(const JsonAt& json, double& growth);

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_STEPS_NORMALIZER_H_
