// The section `pre_tokenizer` of tokenizer.json: how a text is cut into the
// pieces within which the model merges. Known: null, Sequence, ByteLevel,
// Split, Metaspace, Digits.
#ifndef BANYAN_CORE_TOKENIZER_STEPS_PRE_TOKENIZER_H_
#define BANYAN_CORE_TOKENIZER_STEPS_PRE_TOKENIZER_H_

#include <functional>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/json/json_value.h"
#include "core/tokenizer/patterns/regex.h"
#include "core/tokenizer/patterns/split_pattern.h"
#include "core/tokenizer/steps/normalizer.h"

namespace banyan {

// Splitter: the pre-tokenizer Split. Cuts a text into the matches of a pattern
// and the parts between them; these become pieces:
//
//   Isolated            a piece each
//   Removed             matches are dropped
//   MergedWithPrevious  a match ends the piece before it; of several matches
//                       with nothing between them the first does
//   MergedWithNext      a match begins the piece after it; of several the last
//   Contiguous          matches with nothing between them are one piece
//
// With `invert`, matches and the parts between them change places.
enum class SplitBehavior {
  kIsolated,
  kRemoved,
  kMergedWithPrevious,
  kMergedWithNext,
  kContiguous,
};

class Splitter {
 public:
  // Isolates the words of a pattern.
  explicit Splitter(SplitPattern pattern) : known_(pattern) {}

  // Reads pattern, behavior and invert; fails on a pattern that is none.
  static absl::StatusOr<Splitter> FromJson(const JsonAt& json);

  // Appends what `whole` becomes. Requires UTF-8. Fails as Regex::FindAll.
  absl::Status Split(const Piece& whole, std::vector<Piece>& out) const;

 private:
  struct Part {
    RegexMatch bytes;
    bool is_match = false;
  };

  Splitter() = default;

  absl::Status ReadPattern(const JsonAt& json);
  // Gives all of the text, in order; of an empty match an empty part.
  absl::Status ForEachPart(absl::string_view text,
                           absl::FunctionRef<void(Part)> take) const;
  // Parts joined, for the behaviours that join them.
  std::vector<Part> Joined(const std::vector<Part>& parts) const;

  std::optional<SplitPattern> known_;  // matched by a scanner,
  std::optional<Regex> regex_;         // else by this
  SplitBehavior behavior_ = SplitBehavior::kIsolated;
  bool inverts_ = false;
};

class PreTokenizer {
 public:
  // Refuses what it does not know.
  static absl::StatusOr<PreTokenizer> FromJson(const JsonAt& json);

  // Whether the characters of its pieces stand for bytes (both_ways.h).
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
