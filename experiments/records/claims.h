// Whether texts bear out a cell's claim to be lossless.
//
// At temperature 0 a lossless method emits what plain decoding emits, token by
// token, so records decide the claim. A cell whose texts differ loses it when
// records are read: whoever reads `lossless` of a cell then reads false.
#ifndef BANYAN_EXPERIMENTS_RECORDS_CLAIMS_H_
#define BANYAN_EXPERIMENTS_RECORDS_CLAIMS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record_set.h"

namespace banyan {

// The place of the first token that differs from plain decoding's; the number
// of tokens if none does. None where the two cannot be compared: without a
// baseline, above temperature 0, or after earlier turns that differ.
std::optional<std::size_t> FirstDifference(const PromptPair& pair);
// Whether tokens differ from plain decoding's; false if they are not compared.
bool Differs(const PromptPair& pair);

// How many texts were compared with plain decoding's, and how many differ.
struct TextCheck {
  int compared = 0;
  int differing = 0;
};
TextCheck CompareTexts(absl::Span<const PromptPair> pairs);

// Takes the word from every cell that claims to be lossless and has a text that
// differs, and from the method's other cells in its experiment; says so in
// set.refuted. Runs of --fast are left alone: there rounding may tell texts
// apart.
void WithdrawRefutedClaims(RecordSet& set);

// Warns, in the set, where plain decoding's second run gave another text than
// its first, at any temperature: both draw the same.
void WarnOfRepeats(RecordSet& set);

// Aborted, with what set.refuted says, if anything; the program then ends
// with 3.
absl::Status CheckClaims(const RecordSet& set);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RECORDS_CLAIMS_H_
