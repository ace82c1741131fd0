// The n-gram drafter against a recount of the whole window.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/text/ngram/ngram.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/drafters/asking.h"
#include "tests/support/dice.h"
#include "tests/support/drafting.h"
#include "tests/support/shared_models.h"
#include "tests/support/solo.h"
#include "tests/support/tree_text.h"
#include "tree/derive.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

using testing::DoubleNear;
using testing::Pointwise;

constexpr double kRounding = 1e-15;  // of quotients of counts

// The counts of the window after the longest context that has any.
std::vector<double> Naive(const std::vector<TokenId>& committed,
                          const std::vector<TokenId>& path,
                          const NGramOptions& options, int vocab_size) {
  std::vector<TokenId> text = committed;
  text.insert(text.end(), path.begin(), path.end());
  std::size_t begin = 0;
  if (options.history > 0 &&
      committed.size() > static_cast<std::size_t>(options.history))
    begin = committed.size() - static_cast<std::size_t>(options.history);
  for (int order = options.max_order; order >= options.min_order; --order) {
    const auto size = static_cast<std::size_t>(order) - 1;
    if (text.size() < size) continue;
    std::vector<double> counts(static_cast<std::size_t>(vocab_size));
    double total = 0;
    for (std::size_t at = begin + size; at < committed.size(); ++at) {
      if (!std::equal(text.end() - static_cast<std::ptrdiff_t>(size),
                      text.end(), committed.data() + at - size))
        continue;
      ++counts[static_cast<std::size_t>(committed[at])];
      ++total;
    }
    for (double& count : counts) count /= total > 0 ? total : 1;
    if (total > 0) return counts;
  }
  return std::vector<double>(static_cast<std::size_t>(vocab_size));
}

// Rounds that commit what they please; every proposal of every tree is the
// recount's, whatever was drafted and thrown away before.
TEST(NGram, ProposesTheRecountAtEveryNode) {
  constexpr int kVocab = 3;
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    NGramOptions options;
    options.max_order = dice.Between(2, 5);
    options.min_order = dice.Between(2, options.max_order);
    options.history = dice.OneIn(3) ? 0 : options.max_order + dice.Below(12);
    Solo drafter(std::make_unique<NGram>(kVocab, options, SamplingRule()));
    Context context = BeginWith(drafter, {dice.Below(kVocab)});
    for (int round = 0; round < 25; ++round) {
      const TrunkTree tree = MustDraft(
          drafter, *PolicyOf("expansion {branching: [2, 2, 1]}"),
          {.seed = dice.OneIn(2) ? seed : seed + 99, .context = context});
      for (int node = 0; node < tree.size(); ++node) {
        if (tree.proposal(node) == nullptr) continue;
        ++compared;
        ASSERT_THAT(Masses(tree.proposal(node)->q),
                    Pointwise(DoubleNear(kRounding),
                              Naive(context.tokens, TokensTo(tree, node),
                                    options, kVocab)))
            << ToText(tree) << " node " << node;
      }
      std::vector<TokenId> emitted;
      for (int i = dice.Between(1, 4); i > 0; --i)
        emitted.push_back(dice.Below(kVocab));
      if (!dice.OneIn(4)) Commit(drafter, emitted, context);
    }
  }
  EXPECT_GT(compared, 2000);
}

}  // namespace
}  // namespace banyan
