// Texts that a model writes itself, and how likely a text is under a model.
#ifndef BANYAN_EXPERIMENTS_TEXTS_TEXTS_H_
#define BANYAN_EXPERIMENTS_TEXTS_TEXTS_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "experiments/loading/model_shelf.h"
#include "experiments/plan/method_spec.h"

namespace banyan {

// How likely a text is under a model, token by token.
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

// Texts that a model writes itself.

inline constexpr double kOwnTemperature = 1;
inline constexpr int kOwnSeed = 0;

// `count` texts of at most `tokens` tokens each, the same ones every time. Each
// goes on from one of a few short beginnings: for a model with a chat template,
// a message written as a chat; else the first word of a text. It ends where the
// model ends it. `progress` is told how many tokens of the longest text are
// written. Fails if the model has no tokenizer, if its chat template is not
// known or leaves the model less than half of a text, and as opening and
// decoding it do.
absl::StatusOr<std::vector<std::vector<TokenId>>> WriteOwnTexts(
    const ModelSpec& model, ModelShelf& shelf, int count, int tokens,
    absl::FunctionRef<void(int done, int all)> progress);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_TEXTS_TEXTS_H_
