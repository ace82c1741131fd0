// VocabularyMap: which tokens of a target's and a drafter's vocabulary are the
// same.
//
// Two tokens are the same if they add the same bytes to a text (Spellings).
// Special tokens are the same if they are written alike; what ends a text in
// one ends it in the other, unless it is the same as something else already.
#ifndef BANYAN_CORE_TOKENIZER_VOCABULARY_MAP_H_
#define BANYAN_CORE_TOKENIZER_VOCABULARY_MAP_H_

#include <memory>
#include <optional>
#include <vector>

#include "core/base/flat_map.h"
#include "core/base/token.h"
#include "core/tokenizer/spellings.h"
#include "core/tokenizer/tokenizer.h"

namespace banyan {

// The tokens that end a text, where that is known.
struct TextEnds {
  std::optional<TokenId> target, drafter;
};

// Does not change once made: any number of threads may use one.
class VocabularyMap {
 public:
  struct Pair {
    TokenId target, drafter;
  };

  VocabularyMap(std::shared_ptr<const Tokenizer> target,
                std::shared_ptr<const Tokenizer> drafter, const TextEnds& ends);

  const Spellings& target() const { return target_; }
  const Spellings& drafter() const { return drafter_; }

  // The tokens both have, each once, ascending by the target's.
  const std::vector<Pair>& common() const { return common_; }
  // The drafter's token for one of the target's. A token that is spelled as
  // another of its vocabulary has its partner too.
  std::optional<TokenId> DrafterOf(TokenId target) const;

 private:
  void AddSpecial();
  // Unless one of them has a partner.
  void MakeSame(TokenId target, TokenId drafter);
  void Add(TokenId target, TokenId drafter);

  Spellings target_, drafter_;
  std::vector<std::optional<TokenId>> drafter_of_;  // by the target's
  std::vector<Pair> common_;
  FlatSet<TokenId> taken_;  // the drafter's in it
};

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_VOCABULARY_MAP_H_
