// Examines whether a small model fits a target as its drafter: compares their
// directories, and how well their distributions agree on texts.
#ifndef BANYAN_EXPERIMENTS_TEXTS_DRAFTER_FIT_H_
#define BANYAN_EXPERIMENTS_TEXTS_DRAFTER_FIT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/tokenizer/vocabulary.h"
#include "drafters/draft_vocabulary.h"
#include "drafters/head_tools.h"
#include "experiments/loading/model_shelf.h"

namespace banyan {

// Tokens are handed over by number: the same number must be the same token.
// Fails with the first that is not, where both have a tokenizer.
absl::Status CheckVocabularies(const LoadedModel& drafter,
                               const LoadedModel& target);

// One thing that both directories say; "none" where one does not.
struct FitFact {
  std::string name;  // "context"
  std::string target, drafter;
  std::string problem;   // what follows if they are not alike; empty: nothing
  bool refused = false;  // no method takes such a drafter
};

// What a drafter of another vocabulary shares with its target (VocabularyMap).
struct SharedTokens {
  int tokens = 0;   // that both have
  int places = 0;   // tokens of the texts
  int reached = 0;  // of them those that both have
};

struct DrafterFit {
  std::vector<FitFact> facts;
  std::vector<TokenDifference> differing;
  // Of one that does not fit, if both have a tokenizer.
  std::optional<SharedTokens> shared;
  Agreement agreement;  // without places if the vocabularies' sizes differ

  bool Fits() const;
  bool IsWeak() const;
  // "fits", "fits, but ...", "does not fit: ..." or "weak: ...".
  std::string Verdict() const;
};

struct FitQuestion {
  const LoadedModel& target;
  const LoadedModel& drafter;
  // Of the drafter's folder; none: it drafts all tokens.
  std::optional<DraftVocabulary> vocabulary = std::nullopt;
};

// On texts in the target's tokens, of which each is read as far as the drafter
// can. Special tokens and templates are compared where both have a tokenizer.
// `progress` is told how many texts are done. Fails if a model does.
absl::StatusOr<DrafterFit> ExamineFit(
    const FitQuestion& question, const std::vector<std::vector<TokenId>>& texts,
    absl::FunctionRef<void(int done, int all)> progress);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_TEXTS_DRAFTER_FIT_H_
