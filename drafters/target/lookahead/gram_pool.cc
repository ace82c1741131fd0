#include "drafters/target/lookahead/gram_pool.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/token.h"

namespace banyan {

void GramPool::Add(absl::Span<const TokenId> gram) {
  Check(gram.size() >= 2, "a gram of two tokens at least");
  std::vector<Gram>& known = grams_[gram.front()];
  Gram rest(gram.begin() + 1, gram.end());
  known.erase(std::remove(known.begin(), known.end(), rest), known.end());
  known.insert(known.begin(), std::move(rest));
  if (known.size() > most_) known.pop_back();
}

std::vector<TokenId> GramPool::After(TokenId first,
                                     absl::Span<const TokenId> path) const {
  std::vector<TokenId> tokens;
  const auto found = grams_.find(first);
  if (found == grams_.end()) return tokens;
  for (const Gram& gram : found->second) {
    if (gram.size() <= path.size()) continue;
    const auto [behind, end] =
        std::mismatch(gram.begin(), gram.end(), path.begin(), path.end());
    if (end != path.end()) continue;
    if (std::find(tokens.begin(), tokens.end(), *behind) == tokens.end())
      tokens.push_back(*behind);
  }
  return tokens;
}

}  // namespace banyan
