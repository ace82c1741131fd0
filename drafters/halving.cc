#include "drafters/halving.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "tree/draft_tree.h"

namespace banyan {

Proposal Halving(int vocab_size, absl::Span<const TokenId> ranked) {
  Check(ranked.size() <= kMostCandidates, "more candidates than scores tell");
  std::vector<std::pair<TokenId, double>> entries;
  for (std::size_t rank = 0; rank < ranked.size(); ++rank)
    entries.emplace_back(ranked[rank],
                         std::ldexp(1.0, -static_cast<int>(rank) - 1));
  std::sort(entries.begin(), entries.end());
  std::vector<TokenId> tokens;
  std::vector<double> scores;
  for (const auto& [token, score] : entries) {
    tokens.push_back(token);
    scores.push_back(score);
  }
  return {.q = Distribution::Sparse(vocab_size, std::move(tokens),
                                    std::move(scores)),
          .ranked = true};
}

}  // namespace banyan
