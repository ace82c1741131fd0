// How likely a text is under a model, token by token.
#ifndef BANYAN_EXPERIMENTS_SINGLE_SCORING_H_
#define BANYAN_EXPERIMENTS_SINGLE_SCORING_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/model.h"

namespace banyan {

struct TokenScore {
  double log_probability = 0;  // natural
  // 1 for the likeliest; of equals, the lower id comes first.
  int rank = 0;
};

struct TextScores {
  // Of tokens[1], tokens[2], ..., each given those before it.
  std::vector<TokenScore> tokens;
  std::vector<double> last_logits;  // of what follows the text
};

// Fails if there are no tokens, one is outside the vocabulary, they do not fit
// the context, or a logit is NaN or +infinity.
absl::StatusOr<TextScores> ScoreText(const Model& model,
                                     absl::Span<const TokenId> tokens);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_SINGLE_SCORING_H_
