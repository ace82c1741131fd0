// GramPool: grams by their first token, the newest few of each.
#ifndef BANYAN_DRAFTERS_TARGET_LOOKAHEAD_GRAM_POOL_H_
#define BANYAN_DRAFTERS_TARGET_LOOKAHEAD_GRAM_POOL_H_

#include <cstddef>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "core/base/token.h"

namespace banyan {

class GramPool {
 public:
  // Keeps at most `most` of each first token.
  explicit GramPool(std::size_t most) : most_(most) {}

  void Clear() { grams_.clear(); }
  // Makes the gram, of two tokens or more, the newest of its first token. One
  // that is there already moves; the oldest makes room.
  void Add(absl::Span<const TokenId> gram);

  // The distinct tokens that come after `first` and then `path` in the pool's
  // grams, those of newer ones first.
  std::vector<TokenId> After(TokenId first,
                             absl::Span<const TokenId> path) const;

 private:
  using Gram = std::vector<TokenId>;  // without its first token

  std::size_t most_;
  absl::flat_hash_map<TokenId, std::vector<Gram>> grams_;  // newest first
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TARGET_LOOKAHEAD_GRAM_POOL_H_
