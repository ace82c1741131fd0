// A relay: what each drafter says of its own levels.
#include "drafters/composed/relay/relay.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/table_model.h"
#include "core/prob/sampling_rule.h"
#include "drafters/composed/inner_drafters.h"
#include "drafters/drafter.h"
#include "drafters/small_models/small_model/small_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/toys.h"
#include "tests/drafters/asking.h"
#include "tests/drafters/counted.h"
#include "tests/drafters/trying.h"
#include "tests/support/drafting.h"
#include "tests/support/shared_models.h"
#include "tests/support/solo.h"
#include "tests/support/tree_text.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

using ::testing::HasSubstr;

constexpr int kVocab = 4;

// A penalty, so that the history matters beside the cache.
SamplingRule Rule() {
  return SamplingRule({.repetition_penalty = 1.3, .temperature = 0.8});
}

std::shared_ptr<TableModel> ModelOf(int part) {
  return Toy({.vocab_size = kVocab, .seed = 5 + part});
}

// A relay of models, whose spans end so.
struct Relayed {
  explicit Relayed(const std::vector<int>& ends, bool ahead = true,
                   const std::vector<int>& limits = {})
      : asked(ends.size() + 1) {
    std::vector<std::unique_ptr<Drafter>> parts;
    for (std::size_t part = 0; part <= ends.size(); ++part) {
      std::shared_ptr<TableModel> model = ModelOf(static_cast<int>(part));
      if (!limits.empty()) model = Limited(model, limits[part]);
      asked[part] = std::make_shared<AskedSoFar>();
      parts.push_back(std::make_unique<AskCounter>(
          std::make_unique<SmallModel>(model, Rule()), asked[part], ahead));
    }
    drafter = std::make_unique<Solo>(
        std::make_unique<Relay>(InnerDrafters(std::move(parts)), ends));
  }

  std::vector<int> PassesOfParts() const {
    std::vector<int> passes;
    for (const auto& part : asked) passes.push_back(part->passes);
    return passes;
  }

  std::vector<std::shared_ptr<AskedSoFar>> asked;  // by part
  std::unique_ptr<Solo> drafter;
};

// Holds every proposal against that of a fresh model of its span.
void ExpectLawsOfSpans(const TrunkTree& tree, const Context& context,
                       const std::vector<int>& ends) {
  for (int node = 0; node < tree.size(); ++node) {
    if (tree.proposal(node) == nullptr) continue;
    int part = 0;
    for (int end : ends) part += tree.node(node).depth >= end ? 1 : 0;
    std::vector<TokenId> text = context.tokens;
    const std::vector<TokenId> path = TokensTo(tree, node);
    text.insert(text.end(), path.begin(), path.end());
    EXPECT_TRUE(Equal(tree.proposal(node)->q,
                      LawAfter(*ModelOf(part), text, Rule()).Normalized()))
        << "node " << node << " of " << ToText(tree) << ", part " << part;
  }
}

const char* RandomPolicy(std::mt19937_64& bits) {
  constexpr const char* kSpecs[] = {
      "chain {nodes: 5}", "sequences {width: 3, levels: 4}",
      "best_first {most_draws: 9}", "expansion {branching: [2, 1, 2, 1]}",
      "adaptive_chain {nodes: 6, on_low: drop}"};
  return kSpecs[bits() % std::size(kSpecs)];
}

void RunRounds(const std::vector<int>& ends, bool ahead, std::uint64_t seed) {
  std::mt19937_64 bits(seed);
  Relayed relay(ends, ahead);
  Context context = ContextOf({kVocab, 1, 3});
  ASSERT_TRUE(relay.drafter->Begin(context).ok());
  for (int round = 0; round < 30; ++round) {
    SCOPED_TRACE(absl::StrCat("round ", round));
    for (auto drafts = 1 + bits() % 2; drafts > 0; --drafts) {
      const TrunkTree tree =
          MustDraft(*relay.drafter, *PolicyOf(RandomPolicy(bits)),
                    {.limits = {.max_depth = static_cast<int>(bits() % 7)},
                     .seed = bits(),
                     .context = context});
      ExpectLawsOfSpans(tree, context, ends);
      if (drafts == 1)  // those before it are abandoned
        EndRound(tree, kVocab, bits, {relay.drafter.get()}, context);
    }
  }
}

TEST(Relay, AtEachLevelSaysWhatItsDrafterSays) {
  for (const std::vector<int>& ends :
       {std::vector<int>{1}, {2}, {1, 2}, {2, 3}, {9}, {}})
    for (bool ahead : {true, false})
      for (std::uint64_t seed = 0; seed < 3; ++seed)
        RunRounds(ends, ahead, seed);
}

TEST(Relay, OfOneDrafterAndItselfIsThatDrafter) {
  for (const std::string spec :
       {"{name: ngram, history: 0}", "{name: copy, min_match: 1}"}) {
    std::mt19937_64 bits(1);
    const AskedFor small = {.vocab_size = kVocab};
    const auto alone =
        MustAsk(absl::StrCat("relay {spans: [{drafter: ", spec, "}]}"), small);
    const auto relay =
        MustAsk(absl::StrCat("relay {spans: [{levels: 1, drafter: ", spec,
                             "}, {drafter: ", spec, "}]}"),
                small);
    Context context = BeginWith(*alone, {1, 3});
    BeginWith(*relay, {1, 3});
    for (int round = 0; round < 50; ++round) {
      const DraftOptions options = {.draw_kind = DrawKind::kDeterministic,
                                    .context = context};
      const auto policy = PolicyOf("expansion {branching: [2, 1, 1]}");
      const TrunkTree tree = MustDraft(*relay, *policy, options);
      ExpectSameTree(tree, MustDraft(*alone, *policy, options));
      EndRound(tree, kVocab, bits, {alone.get(), relay.get()}, context);
    }
  }
}

std::vector<int> PassesOfAChain(const std::vector<int>& ends, bool ahead) {
  Relayed relay(ends, ahead);
  const Context context = ContextOf({kVocab, 1, 3});
  EXPECT_TRUE(relay.drafter->Begin(context).ok());
  EXPECT_EQ(relay.drafter->traits().proposes_ahead, ahead);
  MustDraft(*relay.drafter, *PolicyOf("chain {nodes: 6}"),
            {.context = context});
  return relay.PassesOfParts();
}

TEST(Relay, ALaterDrafterReadsWhatStandsAboveItsSpan) {
  EXPECT_EQ(PassesOfAChain({2}, true), std::vector<int>({2, 4}));
  EXPECT_EQ(PassesOfAChain({2}, false), std::vector<int>({2, 4 + 2}));
  EXPECT_EQ(PassesOfAChain({1, 4}, true), std::vector<int>({1, 3, 2}));
  EXPECT_EQ(PassesOfAChain({1, 4}, false), std::vector<int>({1, 3 + 1, 2 + 4}));
  EXPECT_EQ(PassesOfAChain({6}, true), std::vector<int>({6, 0}));
}

TEST(Relay, SequencesSharePassesOfEachDrafter) {
  const auto policy = PolicyOf("expansion {branching: [2, 1, 1, 1]}");
  Relayed relay({2});
  std::vector<std::unique_ptr<Solo>> own;
  std::vector<Solo*> drafters;
  std::vector<Context> contexts;
  for (int i = 0; i < 4; ++i) {
    contexts.push_back(ContextOf({kVocab, i, 2}));
    contexts.back().prompt = static_cast<std::uint32_t>(i);
    own.push_back(relay.drafter->Another());
    drafters.push_back(own.back().get());
    ASSERT_TRUE(drafters.back()->Begin(contexts.back()).ok());
  }
  const std::vector<TrunkTree> trees =
      DraftTogether(drafters, contexts, *policy);
  EXPECT_EQ(relay.PassesOfParts(), std::vector<int>({2, 2}));
  for (std::size_t i = 0; i < trees.size(); ++i)
    ExpectLawsOfSpans(trees[i], contexts[i], {2});
}

TEST(Relay, ADrafterSaysNothingBehindWhatItHolds) {
  const Context context = ContextOf({kVocab, 1, 3});  // a text of three
  for (int near = 2; near < 8; ++near)
    for (int far = 2; far < 12; ++far) {
      SCOPED_TRACE(absl::StrCat(near, " ", far));
      Relayed relay({3}, true, {near, far});
      EXPECT_EQ(relay.drafter->traits().longest_text, std::max(near, far));
      ASSERT_TRUE(relay.drafter->Begin(context).ok());
      const absl::StatusOr<TrunkTree> tree =
          TryDraft(*relay.drafter, *PolicyOf("chain {nodes: 7}"),
                   {.draw_kind = DrawKind::kDeterministic, .context = context});
      ASSERT_TRUE(tree.ok()) << tree.status();
      // A text of n tokens is proposed for at depth n - 3.
      const int of_near = std::clamp(near - 2, 0, 3);
      const int of_far = of_near < 3 ? 0 : std::clamp(far - 5, 0, 4);
      EXPECT_EQ(tree->size() - 1, of_near + of_far);
    }
}

TEST(Relay, DrawsByTheLawsThatAllGive) {
  const auto laws = [](const std::string& first, const std::string& second) {
    return MustBuild(absl::StrCat(
                         "relay {spans: [{levels: 1, drafter: {name: ", first,
                         "}}, {drafter: {name: ", second, "}}]}"))
        ->traits()
        .draw_kinds;
  };
  EXPECT_EQ(laws("ngram", "random").size(), 3);
  EXPECT_EQ(laws("ngram", "copy"),
            std::vector<DrawKind>({DrawKind::kDeterministic}));
  EXPECT_EQ(laws("copy", "ngram"),
            std::vector<DrawKind>({DrawKind::kDeterministic}));
}

TEST(Relay, RefusesSpansThatMakeNoSense) {
  const auto refusal = [](const std::string& spans) {
    return Refusal(absl::StrCat("relay {spans: [", spans, "]}"));
  };
  EXPECT_EQ(refusal("{drafter: {name: copy}}"), "");
  EXPECT_THAT(refusal(""), HasSubstr("'spans' must name a drafter"));
  EXPECT_THAT(refusal("{drafter: {name: copy}}, {drafter: {name: copy}}"),
              HasSubstr("span 1 of a relay: missing key 'levels'"));
  EXPECT_THAT(
      refusal("{levels: 0, drafter: {name: copy}}, {drafter: {name: copy}}"),
      HasSubstr("'levels' must be at least 1"));
  EXPECT_THAT(refusal("{levels: 4095, drafter: {name: copy}}, {levels: 2, "
                      "drafter: {name: copy}}, {drafter: {name: copy}}"),
              HasSubstr("with the spans before at most 4096, found '2'"));
  EXPECT_THAT(
      refusal("{levels: 1, drafter: {name: copy}}"),
      HasSubstr("'levels' is not for the last span, which has the rest"));
  EXPECT_THAT(refusal("{levels: 1, drafter: {name: copied}}, {drafter: {name: "
                      "copy}}"),
              HasSubstr("drafter.yaml:1:51: unknown drafter 'copied'"));
  EXPECT_THAT(refusal("{drafter: {name: copy}, upper: 1}"),
              HasSubstr("span 1 of a relay: unknown key 'upper'"));
}

}  // namespace
}  // namespace banyan
