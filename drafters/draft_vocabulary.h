// The tokens that a drafter has logits for, where they are not all: its key
// `vocabulary`, a file that `banyan count --top` writes.
//
//   {"tokenizer": "0123456789abcdef", "vocab_size": 49152, "tokens": [0, 2, 7]}
//
// `tokenizer` is the name of the tokenizer's tokens (token_names.h), or empty
// where the model has none. Proposals are 0 everywhere else, so any list keeps
// a method exact (FR-Spec, arXiv:2502.14856).
#ifndef BANYAN_DRAFTERS_DRAFT_VOCABULARY_H_
#define BANYAN_DRAFTERS_DRAFT_VOCABULARY_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "drafters/workbench.h"

namespace banyan {

struct DraftVocabulary {
  std::string tokenizer;
  int vocab_size = 0;
  std::vector<TokenId> tokens;  // ascending
};

// NotFound if there is no such file; InvalidArgument, with file and place, for
// a token twice or beyond the vocabulary, no token, or another key.
absl::StatusOr<DraftVocabulary> ReadDraftVocabulary(const std::string& path);
std::string ToJson(const DraftVocabulary& vocabulary);

// The key's value, null if it is absent.
const Params* TakeVocabulary(ParamsReader& in);

// The tokens of the file that stands at `place`. Fails as above, and if they
// are another tokenizer's than the target's.
absl::StatusOr<std::shared_ptr<const DraftVocabulary>> OpenVocabulary(
    const Params& place, Workbench& bench);

// `whole` with the outputs that `vocabulary` names, made by `trim` once for all
// drafters that ask for the same; `whole` itself if that is null.
template <typename T>
absl::StatusOr<std::shared_ptr<const T>> Trimmed(
    std::shared_ptr<const T> whole, const Params* vocabulary, Workbench& bench,
    absl::FunctionRef<absl::StatusOr<std::shared_ptr<const T>>(
        const std::shared_ptr<const T>& whole,
        const std::vector<TokenId>& tokens)>
        trim) {
  if (vocabulary == nullptr) return whole;
  BANYAN_ASSIGN_OR_RETURN(const std::shared_ptr<const DraftVocabulary> list,
                          OpenVocabulary(*vocabulary, bench));
  return bench.OpenFor<T>(*vocabulary, whole, [&](const std::string& /*path*/) {
    return trim(whole, list->tokens);
  });
}

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_DRAFT_VOCABULARY_H_
