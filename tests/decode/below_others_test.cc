// A drafter that goes on below a token that another one drew proposes there
// what it proposes below its own.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/draw_kind.h"
#include "decode/decoder.h"
#include "decode/sequence.h"
#include "drafters/drafter.h"
#include "tests/core/transformer/walk.h"
#include "tests/decode/device_decoding.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

constexpr TokenId kFirst = 9;
constexpr TokenId kSecond = 23;

// A sequence's first trunk under way.
class Asked {
 public:
  Asked(Decoder& decoder, const Prompt& prompt)
      : sequence_(Begin(decoder, prompt)),
        tree_(sequence_.context.root(), 0, DrawKind::kDeterministic) {}

  void Ask(const std::vector<int>& nodes) {
    const SequenceTrunk& trunk = sequence_.trunks.front();
    const DraftRequest request = {trunk.session.get(), &sequence_.context,
                                  &tree_, nodes};
    auto answers = trunk.drafter->Propose({&request, 1});
    Check(answers.ok(), answers.status().message());
    for (std::size_t i = 0; i < nodes.size(); ++i)
      tree_.SetProposal(nodes[i], std::move(answers->front()[i]));
  }
  bool proposes_ahead() const {
    return sequence_.trunks.front().drafter->traits().proposes_ahead;
  }
  bool below_others() const {
    return sequence_.trunks.front().drafter->traits().below_others;
  }
  TrunkTree& tree() { return tree_; }

 private:
  static Sequence Begin(Decoder& decoder, const Prompt& prompt) {
    auto sequence = decoder.Begin(prompt, {.max_new_tokens = 20});
    Check(sequence.ok(), sequence.status().message());
    return *std::move(sequence);
  }

  Sequence sequence_;
  TrunkTree tree_;
};

int Drawn(TrunkTree& tree, int node, TokenId token, int vocab_size) {
  return tree.AddDraw(node, token, Distribution::OneHot(vocab_size, token));
}

TEST(BelowOthers, AreTheProposalsBelowOwnTokens) {
  Models models("llama", BackendOf("cpu"));
  models.TakeEagleTarget();
  const Prompt prompt = {.id = 1, .tokens = {1, 4, kFirst, kSecond, 7, 30, 4}};
  int proposed = 0;
  for (const char* drafter :
       {"small_model", "small_model, trimmed", "medusa", "eagle1",
        "eagle3_safeai", "mtp_mimo", "ngram {}", "copy {}", "suffix {}",
        "trie {}", "sam {}", "recycling {}", "random {}"}) {
    SCOPED_TRACE(drafter);
    auto decoder = DecoderOf(models, {drafter,
                                      "chain {nodes: 1}",
                                      "greedy",
                                      DrawKind::kDeterministic,
                                      {.temperature = 0}});
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    Asked own(*decoder, prompt);
    own.Ask({0});
    if (own.tree().remaining(0).empty()) continue;
    const int vocab = models.target->vocab_size();
    const int first = Drawn(own.tree(), 0, kFirst, vocab);
    own.Ask({first});
    const int second = own.tree().remaining(first).empty()
                           ? own.tree().Adopt(first, kSecond)
                           : Drawn(own.tree(), first, kSecond, vocab);
    own.Ask({second});

    Asked adopted(*decoder, prompt);
    ASSERT_TRUE(adopted.below_others());
    const int above = adopted.tree().Adopt(0, kFirst);
    const int below = adopted.tree().Adopt(above, kSecond);
    EXPECT_EQ(adopted.tree().multiplicity(below), 0);
    if (adopted.proposes_ahead()) {
      adopted.Ask({0, above, below});
    } else {
      for (const int node : {0, above, below}) adopted.Ask({node});
    }
    const Distribution& expected = own.tree().proposal(second)->q;
    const Distribution& got = adopted.tree().proposal(below)->q;
    ASSERT_EQ(got.empty(), expected.empty());
    if (expected.empty()) continue;
    ++proposed;
    for (TokenId token = 0; token < vocab; ++token)
      EXPECT_EQ(got.Mass(token), expected.Mass(token)) << token;
  }
  EXPECT_GE(proposed, 8);
}

}  // namespace
}  // namespace banyan
