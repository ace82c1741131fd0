#include "drafters/small_models/small_model/small_model.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/table_model.h"
#include "core/prob/sampling_rule.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/round.h"
#include "decode/sequence.h"
#include "drafters/drafter.h"
#include "gtest/gtest.h"
#include "tests/conformance/toys.h"
#include "tests/support/decoding.h"
#include "tests/support/drafting.h"
#include "tests/support/shared_models.h"
#include "tests/support/solo.h"
#include "tests/support/table_drafter.h"
#include "tests/support/tree_text.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/merge.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

// A penalty, so that the history matters beside the cache.
SamplingRule Rule() {
  return SamplingRule({.repetition_penalty = 1.3, .temperature = 0.8});
}

std::shared_ptr<TableModel> DraftModel() {
  return Toy({.vocab_size = 4, .seed = 5});
}

// A drafter in use. Every proposal it makes is held against one made from
// nothing: a fresh session that reads the context and the node's path.
class Compared : public SmallModel {
 public:
  Compared() : SmallModel(DraftModel(), Rule()) {}

  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override {
    auto all = SmallModel::Propose(requests);
    EXPECT_TRUE(all.ok()) << all.status();
    EXPECT_EQ(all->size(), requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i)
      Compare(requests[i], (*all)[i]);
    return all;
  }

  int compared = 0;

 private:
  void Compare(const DraftRequest& request, const Proposals& proposals) {
    const TrunkTree& tree = *request.tree;
    const std::vector<int>& nodes = request.nodes;
    EXPECT_EQ(proposals.size(), nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      std::vector<TokenId> text = request.context->tokens;
      const std::vector<TokenId> path = TokensTo(tree, nodes[i]);
      text.insert(text.end(), path.begin(), path.end());
      EXPECT_TRUE(Equal(proposals[i].q, LawAfter(*DraftModel(), text, Rule())))
          << "node " << nodes[i] << " of " << ToText(tree) << " after "
          << request.context->tokens.size() << " tokens";
      ++compared;
    }
  }
};

enum class Fate { kRandom, kAllAccepted, kAllRefused };

// A verdict that the tree allows.
Verdict VerdictFor(const DraftTree& tree, Fate fate, std::mt19937_64& bits) {
  Verdict verdict;
  for (int node = 0; fate != Fate::kAllRefused;) {
    std::vector<int> drawn;
    for (int child : tree.node(node).children)
      if (!tree.node(child).probe()) drawn.push_back(child);
    if (drawn.empty() || (fate == Fate::kRandom && bits() % 4 == 0)) break;
    node = drawn[bits() % drawn.size()];
    verdict.path.push_back(node);
  }
  verdict.next = static_cast<TokenId>(bits() % 4);
  return verdict;
}

void Commit(const DraftTree& tree, const Verdict& verdict, Context& context) {
  for (int node : verdict.path) context.tokens.push_back(tree.node(node).token);
  context.tokens.push_back(verdict.next);
  ++context.round;
}

std::string RandomPolicy(std::mt19937_64& bits) {
  const std::vector<std::string> specs = {
      "chain {nodes: 4}",           "sequences {width: 3, levels: 3}",
      "best_first {most_draws: 8}", "expansion {branching: [2, 2, 2]}",
      "chain {nodes: 0}",           "adaptive_chain {nodes: 6, on_low: drop}"};
  return specs[bits() % specs.size()];
}

// Fifty rounds beside `others` other trunks; some are abandoned on the way.
void RunRounds(Fate fate, int others, std::uint64_t seed) {
  std::mt19937_64 bits(seed);
  const auto compared = std::make_shared<Compared>();
  Solo drafter(compared);
  Context context = ContextOf({4, 1, 3});
  ASSERT_TRUE(drafter.Begin(context).ok());
  for (int round = 0; round < 50; ++round) {
    SCOPED_TRACE(absl::StrCat("round ", round));
    for (auto abandoned = bits() % 3; abandoned > 0; --abandoned)
      MustDraft(drafter, *PolicyOf(RandomPolicy(bits)),
                {.limits = {.max_depth = static_cast<int>(bits() % 4)},
                 .seed = bits(),
                 .context = context});
    const int own =
        static_cast<int>(bits() % (1 + static_cast<unsigned>(others)));
    std::vector<TrunkTree> trunks;
    for (int trunk = 0; trunk <= others; ++trunk) {
      Solo other(std::make_unique<TableDrafter>(
          Toy({.vocab_size = 4, .seed = 6 + trunk})));
      Solo& used = trunk == own ? drafter : other;
      trunks.push_back(
          MustDraft(used, *PolicyOf(RandomPolicy(bits)),
                    {.seed = bits(), .context = context, .trunk = trunk}));
    }
    const DraftTree tree = Merge(trunks);
    const Verdict verdict = VerdictFor(tree, fate, bits);
    Commit(tree, verdict, context);
    ASSERT_TRUE(drafter.Observe(context, {tree, verdict, own}).ok());
  }
  EXPECT_GT(compared->compared, 100);
}

TEST(SmallModel, ProposesAsAFreshDrafterDoesWhateverTheVerdicts) {
  for (std::uint64_t seed = 0; seed < 5; ++seed)
    RunRounds(Fate::kRandom, 0, seed);
}

// Field pitfall 13: the last node of a fully accepted chain was never read.
TEST(SmallModel, FullAcceptanceLeavesNoHole) {
  for (std::uint64_t seed = 0; seed < 5; ++seed)
    RunRounds(Fate::kAllAccepted, 0, seed);
}

TEST(SmallModel, RefusalLeavesNothingBehind) {
  for (std::uint64_t seed = 0; seed < 5; ++seed)
    RunRounds(Fate::kAllRefused, 0, seed);
}

TEST(SmallModel, ReadsWhatOtherTrunksDrafted) {
  for (int others : {1, 2})
    for (Fate fate : {Fate::kRandom, Fate::kAllAccepted, Fate::kAllRefused})
      RunRounds(fate, others, 7);
}

TEST(SmallModel, BeginForgetsThePreviousPrompt) {
  Solo drafter(std::make_unique<Compared>());
  for (TokenId first : {1, 2, 3}) {
    const Context context = ContextOf({4, first});
    ASSERT_TRUE(drafter.Begin(context).ok());
    MustDraft(drafter, *PolicyOf("expansion {branching: [2, 2]}"),
              {.context = context});
  }
}

TEST(SmallModel, AnAbandonedRoundChangesNoLaterDraw) {
  const std::unique_ptr<TreePolicy> policy =
      PolicyOf("expansion {branching: [2, 2, 1]}");
  const Context context = ContextOf({4, 2});
  const auto grown = [&](Solo& drafter, std::uint64_t seed) {
    return ToText(
        MustDraft(drafter, *policy, {.seed = seed, .context = context}));
  };
  Solo fresh(std::make_unique<SmallModel>(DraftModel(), Rule()));
  Solo used(std::make_unique<SmallModel>(DraftModel(), Rule()));
  ASSERT_TRUE(fresh.Begin(context).ok());
  ASSERT_TRUE(used.Begin(context).ok());
  for (std::uint64_t seed = 0; seed < 10; ++seed) grown(used, seed);
  EXPECT_EQ(grown(used, 10), grown(fresh, 10));
}

// The text goes on without it, token for token.
TEST(SmallModel, DraftsNothingBehindWhatItHolds) {
  const std::shared_ptr<TableModel> target = DraftModel();
  const Prompt prompt = {.tokens = {4, 1, 3, 2, 0}};
  const StopRule stop = {.max_new_tokens = 24};
  const SamplingOptions greedy = {.temperature = 0};
  const std::vector<TokenId> plain =
      MustDecodePlainly(*target, SamplingRule(greedy), prompt, stop);
  for (const int limit : {1, 4, 5, 6, 8, 17, 28, 29, 40}) {
    SCOPED_TRACE(limit);
    std::vector<Trunk> trunks;
    trunks.push_back(
        TrunkOf(std::make_unique<SmallModel>(Limited(DraftModel(), limit),
                                             SamplingRule(greedy)),
                "chain {nodes: 4}", DrawKind::kDeterministic));
    absl::StatusOr<Decoder> decoder =
        WithTrunks(*target, "greedy", std::move(trunks), greedy);
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    const Decoded decoded = MustDecode(*decoder, prompt, stop);
    EXPECT_EQ(decoded.tokens, plain);
    int length = static_cast<int>(prompt.tokens.size());
    for (const RoundRecord& round : decoded.rounds) {
      EXPECT_EQ(round.tree.size() - 1, std::clamp(limit + 1 - length, 0, 4))
          << "a text of " << length;
      length += static_cast<int>(round.emitted.size());
    }
  }
}

TEST(SmallModel, GivesEveryLaw) {
  EXPECT_EQ(SmallModel(DraftModel(), Rule()).traits().draw_kinds.size(), 3);
}

}  // namespace
}  // namespace banyan
