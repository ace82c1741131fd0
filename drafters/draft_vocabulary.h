// The tokens that a drafter has logits for, where they are not all: those of a
// file that `banyan make counts --top` writes. The key `vocabulary` names it;
// left out, it is the vocabulary.json in the folder of the drafter's model, if
// that has one. `vocabulary: all` is all tokens.
//
//   {"tokenizer": "0123456789abcdef", "vocab_size": 49152, "tokens": [0, 2, 7]}
//
// `tokenizer` is the name of the tokenizer's tokens (vocabulary.h), or empty
// where the model has none. Proposals are 0 everywhere else, so any list keeps
// a method exact (FR-Spec, arXiv:2502.14856).
#ifndef BANYAN_DRAFTERS_DRAFT_VOCABULARY_H_
#define BANYAN_DRAFTERS_DRAFT_VOCABULARY_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/tokenizer/tokenizer.h"
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

// Fails unless the tokens are those of a target with this vocabulary and
// tokenizer, null: it has none.
absl::Status CheckFits(const DraftVocabulary& vocabulary, int vocab_size,
                       const Tokenizer* tokenizer);

inline constexpr char kVocabularyKey[] = "vocabulary";
inline constexpr char kVocabularyFile[] = "vocabulary.json";

// The path of the file in the folder whose path stands at `folder`, with the
// place of that; none if there is no such file.
std::optional<Params> VocabularyIn(const Params& folder);
// The same in a directory; empty: none.
std::string VocabularyFileIn(const std::string& directory);

KeyRow VocabularyKey();
// Whether the key's value names no file, but all tokens.
bool IsAllTokens(const Params& vocabulary);

// The tokens of the file that stands at `place`. Fails as above.
absl::StatusOr<std::shared_ptr<const DraftVocabulary>> OpenVocabulary(
    const Params& place, Workbench& bench);

// `whole` with the outputs that `vocabulary` names, made by `trim` once for all
// drafters that ask for the same; `whole` itself if that is null or all.
template <typename T>
absl::StatusOr<std::shared_ptr<const T>> Trimmed(
    std::shared_ptr<const T> whole, const Params* vocabulary, Workbench& bench,
    absl::FunctionRef<absl::StatusOr<std::shared_ptr<const T>>(
        const std::shared_ptr<const T>& whole,
        const std::vector<TokenId>& tokens)>
        trim) {
  if (vocabulary == nullptr || IsAllTokens(*vocabulary)) return whole;
  BANYAN_ASSIGN_OR_RETURN(const std::shared_ptr<const DraftVocabulary> list,
                          OpenVocabulary(*vocabulary, bench));
  return bench.OpenFor<T>(*vocabulary, whole, [&](const std::string& /*path*/) {
    return trim(whole, list->tokens);
  });
}

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_DRAFT_VOCABULARY_H_
