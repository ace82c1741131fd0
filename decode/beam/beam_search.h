// Beam search, plainly and with a draft model's beam (beam_search.cc).
#ifndef BANYAN_DECODE_BEAM_BEAM_SEARCH_H_
#define BANYAN_DECODE_BEAM_BEAM_SEARCH_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/clock.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "decode/sequence.h"

namespace banyan {

struct BeamOptions {
  int width = 4;  // texts that are kept
  // A text counts its log-probability over its length to this power; 0 leaves
  // that as it is.
  double length_power = 0;
  // With a draft model: the width of its beam, at least `width`, and how many
  // tokens further it goes before each pass of the target.
  int draft_width = 8;
  int gamma = 4;
};

// A text that was found: the tokens after the prompt.
struct FoundText {
  std::vector<TokenId> tokens;
  double log_probability = 0;  // natural, summed in the tokens' order
  double value = 0;  // that ranks it; the log-probability without length_power
  bool ended = false;  // its last token is an end of text

  friend bool operator==(const FoundText&, const FoundText&) = default;
};

// One pass of the target.
struct BeamPass {
  int rows = 0;        // that it scored
  int draft_rows = 0;  // that the draft model scored before it
  int draft_passes = 0;
  int steps = 0;  // tokens by which the beam grew
};

struct BeamFindings {
  std::vector<FoundText> beam;  // the best first
  StopReason stopped = StopReason::kNone;
  std::vector<BeamPass> passes;
  std::int64_t prefill_ns = 0;  // of both models
  std::int64_t draft_ns = 0;
  std::int64_t target_ns = 0;
  std::int64_t rest_ns = 0;  // choosing texts

  // Over the passes: Sum(&BeamPass::rows).
  int Sum(int BeamPass::*count) const {
    int sum = 0;
    for (const BeamPass& pass : passes) sum += pass.*count;
    return sum;
  }
  std::int64_t SearchNs() const { return draft_ns + target_ns + rest_ns; }
};

// Returns the `width` likeliest texts that beam search finds after a prompt. It
// stops when all have ended, at the length limit, or when the context is full.
// With `draft` it takes fewer passes of the target and finds the same texts in
// the same order, with bit-identical numbers. Fails if the prompt is empty or
// does not fit the target's context, on options that make no sense, if the
// models' vocabularies differ in size, and as the models do.
absl::StatusOr<BeamFindings> BeamSearch(const Model& target, const Model* draft,
                                        absl::Span<const TokenId> prompt,
                                        const StopRule& stop,
                                        const BeamOptions& options,
                                        const Clock& clock);

}  // namespace banyan

#endif  // BANYAN_DECODE_BEAM_BEAM_SEARCH_H_
