// A beam: the likeliest texts of one length, and the step to the next length.
// Which texts these are is decided here alone, whoever drafted.
#ifndef BANYAN_DECODE_BEAM_BEAM_H_
#define BANYAN_DECODE_BEAM_BEAM_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "decode/beam/text_tree.h"

namespace banyan {

// One text of a beam.
struct BeamText {
  int node = 0;    // where it ends in the tree of texts
  int length = 0;  // its new tokens
  // Of these together, natural, summed in their order.
  double log_probability = 0;
  bool ended = false;  // its last token is an end of text
};

// What may follow a text.
struct NextToken {
  TokenId token;
  double log_probability;
};

// The k likeliest tokens of a row of logits, the likeliest first, ties towards
// the lower id; fewer if no more have mass. Fails on a row that cannot be read,
// is no row of logits or leaves no token.
absl::StatusOr<std::vector<NextToken>> LikeliestAt(const Scores& scores,
                                                   int row, int k);

struct BeamRule {
  int width = 1;  // texts that are kept
  // A text counts its log-probability over its length to this power; 0 leaves
  // that as it is.
  double length_power = 0;
  std::vector<TokenId> end_of_text;

  double Value(const BeamText& text) const;
};

// The beam one token further: of every text that has not ended with each of the
// tokens that may follow it, and of every ended text as it is, the `width` that
// count most. Ties go to what continues the earlier text of the beam, then to
// the likelier token, then to the lower id. `next` has a list for each text,
// which is not looked at where the text has ended; as the rule keeps no more,
// the likeliest `width` of each are enough. New texts become nodes of `texts`.
std::vector<BeamText> NextBeam(absl::Span<const BeamText> beam,
                               absl::Span<const std::vector<NextToken>> next,
                               const BeamRule& rule, TextTree& texts);

// The nodes of the texts that have not ended.
std::vector<int> LiveNodes(absl::Span<const BeamText> beam);

}  // namespace banyan

#endif  // BANYAN_DECODE_BEAM_BEAM_H_
