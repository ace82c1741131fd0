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
#ifndef BANYAN_CORE_TOKENIZER_STEPS_SPLITTER_H_
#define BANYAN_CORE_TOKENIZER_STEPS_SPLITTER_H_

#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/json/json_at.h"
#include "core/tokenizer/patterns/regex.h"
#include "core/tokenizer/patterns/split_pattern.h"
#include "core/tokenizer/steps/piece.h"

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_STEPS_SPLITTER_H_
