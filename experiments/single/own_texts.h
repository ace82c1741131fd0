// Texts that a model writes itself.
#ifndef BANYAN_EXPERIMENTS_SINGLE_OWN_TEXTS_H_
#define BANYAN_EXPERIMENTS_SINGLE_OWN_TEXTS_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "core/base/token.h"
#include "experiments/models/model_shelf.h"
#include "experiments/plan/model_spec.h"

namespace banyan {

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

#endif  // BANYAN_EXPERIMENTS_SINGLE_OWN_TEXTS_H_
