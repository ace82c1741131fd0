// Whether a small model fits a target as its drafter: what their directories
// say, beside each other, and how their laws agree.
#ifndef BANYAN_EXPERIMENTS_RUN_DRAFTER_FIT_H_
#define BANYAN_EXPERIMENTS_RUN_DRAFTER_FIT_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/token.h"
#include "core/tokenizer/tokenizer.h"
#include "drafters/agreement.h"
#include "experiments/run/loaded_model.h"

namespace banyan {

// A number that both tokenizers have a token for, but not the same one.
struct TokenDifference {
  TokenId id = 0;
  std::string target, drafter;  // as the files write it
};

// In order of number.
std::vector<TokenDifference> DifferingTokens(const Tokenizer& target,
                                             const Tokenizer& drafter);
// "token 5 is 'x' here and 'y' in the target's tokenizer.json"
std::string Describe(const TokenDifference& difference);

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

struct DrafterFit {
  std::vector<FitFact> facts;
  std::vector<TokenDifference> differing;
  Agreement agreement;  // without places if the vocabularies' sizes differ

  bool Fits() const;
  bool IsWeak() const;
  // "fits", "fits, but ...", "does not fit: ..." or "weak: ...".
  std::string Verdict() const;
};

// On texts in the target's tokens, of which each is read as far as the drafter
// can. Special tokens and templates are compared where both have a tokenizer.
// `progress` is told how many texts are done. Fails if a model does.
absl::StatusOr<DrafterFit> ExamineFit(
    const LoadedModel& target, const LoadedModel& drafter,
    const std::vector<std::vector<TokenId>>& texts,
    absl::FunctionRef<void(int done, int all)> progress);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_DRAFTER_FIT_H_
