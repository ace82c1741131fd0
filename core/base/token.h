// Token ids, and the batch of tokens in which a tree and a model meet.
#ifndef BANYAN_CORE_BASE_TOKEN_H_
#define BANYAN_CORE_BASE_TOKEN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace banyan {

using TokenId = std::int32_t;

// Tokens to score in one pass, parents before children.
//
// `parents[i]` is the row that token i follows. Rows are numbered through all
// batches a session holds pending (core/model/model.h), so a second batch may
// hang below the first; kCommitted means "follows the committed prefix". A
// token attends to the committed prefix, its ancestors and itself. Its position
// is the committed length plus its depth.
struct TokenBatch {
  static constexpr int kCommitted = -1;

  std::vector<TokenId> tokens;
  std::vector<int> positions;
  std::vector<int> parents;
  // How much further on than the next position rows stand that follow the
  // committed prefix or a row of an earlier batch. Not 0 where it is asked what
  // positions a model was trained on (`banyan doctor`).
  int shift = 0;

  // Returns `tokens` as a chain after the committed prefix, which is `first`
  // tokens long.
  static TokenBatch Chain(absl::Span<const TokenId> tokens, int first) {
    TokenBatch batch;
    for (TokenId token : tokens)
      batch.Add(token, first + batch.size(), batch.size() - 1);
    return batch;
  }

  // Whether each token follows the row before it, the first one the prefix.
  bool IsChain() const {
    for (int i = 0; i < size(); ++i)
      if (parents[static_cast<std::size_t>(i)] != i - 1) return false;
    return true;
  }

  int size() const { return static_cast<int>(tokens.size()); }
  void Add(TokenId token, int position, int parent) {
    tokens.push_back(token);
    positions.push_back(position);
    parents.push_back(parent);
  }
};

// How long a token's text may be.

// The most bytes of a token that is searched for at every place of a text, or
// split at every place of its own. Published tokens have up to some 256.
inline constexpr std::size_t kMaxTokenBytes = 1024;

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_TOKEN_H_
