// The section `pre_tokenizer` of tokenizer.json: how a text is cut into the
// pieces within which the model merges. Known: null, Sequence, ByteLevel,
// Split, Metaspace, Digits.
#ifndef BANYAN_CORE_TOKENIZER_STEPS_PRE_TOKENIZER_H_
#define BANYAN_CORE_TOKENIZER_STEPS_PRE_TOKENIZER_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/json/json_at.h"
#include "core/tokenizer/steps/piece.h"

namespace banyan {

class PreTokenizer {
 public:
  // Refuses what it does not know.
  static absl::StatusOr<PreTokenizer> FromJson(const JsonAt& json);

  // Whether the characters of its pieces stand for bytes (byte_level.h).
  bool is_byte_level() const { return has_byte_level_; }

  // Appends what `piece` is cut into. Requires UTF-8 and no token; gives UTF-8.
  // Fails with InvalidArgument where a pattern takes too much (regex.h).
  absl::Status Split(Piece piece, std::vector<Piece>& out) const;

 private:
  // Appends what a piece becomes.
  using Step =
      std::function<absl::Status(Piece piece, std::vector<Piece>& out)>;

  absl::Status Add(const JsonAt& json);
  absl::Status AddByteLevel(const JsonAt& json);
  absl::Status AddSplit(const JsonAt& json);
  absl::Status AddMetaspace(const JsonAt& json);
  absl::Status AddDigits(const JsonAt& json);

  std::vector<Step> steps_;
  bool has_byte_level_ = false;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_STEPS_PRE_TOKENIZER_H_
