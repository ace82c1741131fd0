// Measures how much a drafter agrees with its target, for `banyan doctor`.
#ifndef BANYAN_DRAFTERS_HEADS_AGREEMENT_H_
#define BANYAN_DRAFTERS_HEADS_AGREEMENT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"

namespace banyan {

// Below this acceptance rate a drafter is weak: two random distributions over a
// small vocabulary have less.
inline constexpr double kWeakOverlap = 0.25;

// Over places of a text: the mean acceptance rate, sum(min(p, q)), and the
// share of places where both distributions have the same argmax. 0 if there are
// none.
class Agreement {
 public:
  // Requires distributions over one vocabulary.
  void Count(const Distribution& target, const Distribution& draft);

  int places() const { return places_; }
  double overlap() const { return places_ == 0 ? 0 : overlap_ / places_; }
  double same() const { return places_ == 0 ? 0 : same_ / places_; }

 private:
  int places_ = 0;
  double overlap_ = 0;
  double same_ = 0;
};

// Returns the model's distributions after each token of a text, read in one
// pass, at temperature 1. Fails as Model::Score.
absl::StatusOr<std::vector<Distribution>> LawsAfter(
    const Model& model, const std::vector<TokenId>& tokens);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_AGREEMENT_H_
