// Finds the likeliest texts by beam search, with a draft model or without.
#ifndef BANYAN_DECODE_BEAM_BEAM_SEARCH_H_
#define BANYAN_DECODE_BEAM_BEAM_SEARCH_H_

#include <cstdint>
#include <vector>

#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "decode/sequence.h"

namespace banyan {

// With a draft model, its beam is `draft_width` texts wide, at least `width`,
// and goes `gamma` tokens ahead of each pass of the target.
struct BeamOptions {
  int width = 4;
  // The value of a text is its log-probability over its length to this power.
  double length_power = 0;
  int draft_width = 8;
  int gamma = 4;
};

// Holds the tokens after the prompt. The log-probability is natural and summed
// in the order of the tokens. Texts are ranked by their value.
struct FoundText {
  std::vector<TokenId> tokens;
  double log_probability = 0;
  double value = 0;
  bool ended = false;

  friend bool operator==(const FoundText&, const FoundText&) = default;
};

// Holds the texts, the best first, and what the search took: passes of the
// target, rows that each model scored, and steps, by which the beam grew one
// token each. `rest_ns` is the time it took to choose texts.
struct BeamFindings {
  std::vector<FoundText> beam;
  StopReason stopped = StopReason::kNone;
  int passes = 0;
  int rows = 0;
  int draft_rows = 0;
  int steps = 0;
  std::int64_t prefill_ns = 0;
  std::int64_t draft_ns = 0;
  std::int64_t target_ns = 0;
  std::int64_t rest_ns = 0;
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
