// A hybrid drafts by the one of its drafters that promises most.
#include "drafters/composed/hybrid/hybrid.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "drafters/composed/inner_drafters.h"
#include "drafters/drafter.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/drafters/asking.h"
#include "tests/drafters/counted.h"
#include "tests/drafters/trying.h"
#include "tests/support/decorated.h"
#include "tests/support/drafting.h"
#include "tests/support/shared_models.h"
#include "tests/support/solo.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"
#include "tree/merge.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

using ::testing::HasSubstr;

// Says one token, and promises what it is told to.
class Promising : public Drafter {
 public:
  struct Told {
    std::optional<double> promise;
    int longest_text = 1000;  // when it is made
  };
  Promising(TokenId token, const Told* told)
      : Drafter({.draw_kinds = EveryDrawKind(),
                 .longest_text = told->longest_text,
                 .proposes_ahead = true},
                /*carried=*/nullptr),
        token_(token),
        told_(told) {}

  std::unique_ptr<DraftSession> NewSession() const override {
    return std::make_unique<Sequence>(told_);
  }
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override {
    std::vector<Proposals> all;
    for (const DraftRequest& request : requests)
      all.emplace_back(request.nodes.size(),
                       Proposal{Distribution::OneHot(8, token_)});
    return all;
  }

 private:
  class Sequence : public DecoratedSession {
   public:
    explicit Sequence(const Told* told) : told_(told) {}
    std::optional<double> Promise(const Context& /*context*/) const override {
      return told_->promise;
    }

   private:
    const Told* told_;
  };

  TokenId token_;
  const Told* told_;
};

// Three drafters, which say 0, 1 and 2.
class HybridTest : public testing::Test {
 protected:
  std::unique_ptr<Solo> Make(HybridOptions options) {
    std::vector<std::unique_ptr<Drafter>> parts;
    for (std::size_t i = 0; i < told_.size(); ++i)
      parts.push_back(std::make_unique<AskCounter>(
          std::make_unique<Promising>(static_cast<TokenId>(i), &told_[i]),
          asked_));
    if (options.depths.empty()) options.depths.resize(parts.size());
    return std::make_unique<Solo>(
        std::make_unique<Hybrid>(InnerDrafters(std::move(parts)), options));
  }

  // Which one is chosen.
  int ChosenBy(Solo& hybrid) { return AtRoot(hybrid, context_).Argmax(); }

  // Runs a round in which `accepted` of four draft tokens are accepted.
  void Round(Solo& hybrid, int accepted) {
    const TrunkTree drafted =
        MustDraft(hybrid, *PolicyOf("chain {nodes: 4}"), {.context = context_});
    Verdict verdict = {.next = 7};
    for (int node = 1; node <= accepted; ++node) {
      verdict.path.push_back(node);
      context_.tokens.push_back(drafted.node(node).token);
    }
    End(hybrid, Merge({&drafted, 1}), verdict);
  }

  void End(Solo& hybrid, const DraftTree& tree, const Verdict& verdict) {
    context_.tokens.push_back(7);
    ++context_.round;
    ASSERT_TRUE(hybrid.Observe(context_, {tree, verdict, 0}).ok());
  }

  std::vector<Promising::Told> told_ = std::vector<Promising::Told>(3);
  std::shared_ptr<AskedSoFar> asked_ = std::make_shared<AskedSoFar>();
  Context context_ = ContextOf({7});
};

// `depth` drafters, each in the one before, the last a chain of n-grams.
std::string Nested(const std::string& before, const std::string& after,
                   int depth) {
  std::string spec = "{name: ngram}";
  for (int i = 1; i < depth; ++i) spec = absl::StrCat(before, spec, after);
  return spec;
}

// Exponentially many questions would not be answered before the test is ended.
TEST(NestedDrafters, CostAsManyQuestionsAsThereAreLevels) {
  for (const auto& [name, before, after] :
       {std::tuple("or_else",
                   "{name: or_else, first: {name: sam}, second: ", "}"),
        std::tuple("hybrid", "{name: hybrid, drafters: [{drafter: ", "}]}"),
        std::tuple("relay", "{name: relay, spans: [{drafter: ", "}]}")}) {
    SCOPED_TRACE(name);
    const std::string section = Nested(before, after, 20);
    const std::string spec =
        absl::StrCat(name, " {", section.substr(section.find(", ") + 2));
    const auto drafter = MustAsk(spec);
    Context context = BeginWith(*drafter, {1, 2, 3, 1, 2});
    for (int round = 0; round < 4; ++round) {
      AtRoot(*drafter, context);
      Commit(*drafter, {3, 1, 2}, context);
    }
    EXPECT_EQ(drafter->Another()->traits().draw_kinds,
              drafter->traits().draw_kinds);
  }
}

TEST(NestedDrafters, AreBounded) {
  EXPECT_THAT(
      Refusal("hybrid {drafters: [{drafter: &a {name: ngram}}, {drafter: &b "
              "{name: hybrid, drafters: [{drafter: *a}, {drafter: *a}, "
              "{drafter: *a}, {drafter: *a}]}}, {drafter: &c {name: hybrid, "
              "drafters: [{drafter: *b}, {drafter: *b}, {drafter: *b}, "
              "{drafter: *b}]}}, {drafter: {name: hybrid, drafters: "
              "[{drafter: *c}, {drafter: *c}, {drafter: *c}, {drafter: "
              "*c}]}}]}"),
      HasSubstr("drafter hybrid: expected at most 64 drafters in it, found "));
}

constexpr double kLong = 1e9;  // a memory in which nothing fades

TEST_F(HybridTest, WithoutPromisesItIsTheMeanThatCounts) {
  const auto hybrid = Make({.memory = kLong, .start = 2});
  ASSERT_TRUE(hybrid->Begin(context_).ok());
  EXPECT_EQ(ChosenBy(*hybrid), 0) << "all alike";
  Round(*hybrid, 1);  // 0: (1 + 2) / 2
  EXPECT_EQ(ChosenBy(*hybrid), 1);
  Round(*hybrid, 0);  // 1: (0 + 2) / 2
  EXPECT_EQ(ChosenBy(*hybrid), 2);
  Round(*hybrid, 2);  // 2: (2 + 2) / 2
  EXPECT_EQ(ChosenBy(*hybrid), 2);
  Round(*hybrid, 0);  // 2: 4 / 3, below 3 / 2
  EXPECT_EQ(ChosenBy(*hybrid), 0);
  Round(*hybrid, 0);  // 0: 3 / 3
  EXPECT_EQ(ChosenBy(*hybrid), 2);
}

TEST_F(HybridTest, APromiseIsWorthWhatPromisesWereWorth) {
  const auto hybrid = Make({.memory = kLong, .start = 2});
  told_[1].promise = 3;
  ASSERT_TRUE(hybrid->Begin(context_).ok());
  EXPECT_EQ(ChosenBy(*hybrid), 1);
  told_[1].promise = 5;
  Round(*hybrid, 1);  // worth (1 + 2) / (3 + 2), so 3
  EXPECT_EQ(ChosenBy(*hybrid), 1);
  told_[1].promise = 10;
  Round(*hybrid, 1);  // (2 + 2) / (8 + 2), so 4
  EXPECT_EQ(ChosenBy(*hybrid), 1);
  told_[1].promise = 8;
  Round(*hybrid, 0);  // (2 + 2) / (18 + 2), so 1.6, below 2
  EXPECT_EQ(ChosenBy(*hybrid), 0);
  told_[1].promise = 11;  // 2.2
  Round(*hybrid, 0);
  EXPECT_EQ(ChosenBy(*hybrid), 1);
}

TEST_F(HybridTest, WhoWasNotChosenForLongIsTriedAgain) {
  const auto hybrid = Make({.memory = 4, .start = 2});
  ASSERT_TRUE(hybrid->Begin(context_).ok());
  std::vector<int> rounds(3);
  for (int round = 0; round < 40; ++round) {
    const int chosen = ChosenBy(*hybrid);
    ++rounds[static_cast<std::size_t>(chosen)];
    Round(*hybrid, chosen == 2 ? 2 : 0);
    // 2: (sum + 2) / (sum / 2 + 1) is 2. Another is below until its sum is 0.
  }
  EXPECT_EQ(rounds, std::vector<int>({1, 1, 38}));
  rounds.assign(3, 0);
  for (int round = 0; round < 40; ++round) {
    const int chosen = ChosenBy(*hybrid);
    ++rounds[static_cast<std::size_t>(chosen)];
    Round(*hybrid, chosen == 2 ? 1 : 0);  // its mean falls to 1
  }
  EXPECT_GE(rounds[0], 3);
  EXPECT_GE(rounds[1], 3);
  EXPECT_GE(rounds[2], 20);
}

TEST_F(HybridTest, ChoosesFromThePastAlone) {
  const auto hybrid = Make({.memory = kLong, .start = 2});
  told_[2].promise = 3;
  ASSERT_TRUE(hybrid->Begin(context_).ok());
  told_[1].promise = 9;                             // which it says too late
  for (std::uint64_t seed = 0; seed < 5; ++seed) {  // and abandoned rounds
    MustDraft(*hybrid, *PolicyOf("chain {nodes: 3}"),
              {.seed = seed, .context = context_});
    EXPECT_EQ(ChosenBy(*hybrid), 2);
  }
  Round(*hybrid, 0);
  EXPECT_EQ(ChosenBy(*hybrid), 1);
}

TEST_F(HybridTest, CountsWhatItsOwnTrunkDrafted) {
  const auto hybrid = Make({.memory = kLong, .start = 2});
  ASSERT_TRUE(hybrid->Begin(context_).ok());
  // Accepted are 1, of both trunks, 2, of the other one, and 3, of its own: by
  // that one is counted, (1 + 2) / 2; with 3 it would be 2.
  const DraftTree tree = ParseTree("7(1( | 2(3)) | 1)");
  End(*hybrid, tree, {.path = {1, 2, 3}, .next = 7});
  EXPECT_EQ(ChosenBy(*hybrid), 1);
  Round(*hybrid, 0);
  EXPECT_EQ(ChosenBy(*hybrid), 2);
  Round(*hybrid, 0);
  EXPECT_EQ(ChosenBy(*hybrid), 0) << "one was accepted";
}

TEST_F(HybridTest, BeginForgetsWhatCameOfPromises) {
  const auto hybrid = Make({.memory = kLong, .start = 2});
  ASSERT_TRUE(hybrid->Begin(context_).ok());
  Round(*hybrid, 0);
  EXPECT_EQ(ChosenBy(*hybrid), 1);
  ASSERT_TRUE(hybrid->Begin(context_).ok());
  EXPECT_EQ(ChosenBy(*hybrid), 0);
}

TEST_F(HybridTest, DraftsAndPromisesNoDeeperThanItsDepth) {
  told_[0].promise = 9;
  told_[1].promise = 3;
  const auto drafted = [&](const std::vector<int>& depths) {
    const auto hybrid = Make({.depths = depths, .memory = kLong, .start = 2});
    EXPECT_TRUE(hybrid->Begin(context_).ok());
    return ToText(MustDraft(
        *hybrid,
        *PolicyOf("expansion {branching: [2, 1, "
                  "1, 1]}"),
        {.draw_kind = DrawKind::kDeterministic, .context = context_}));
  };
  EXPECT_EQ(drafted({0, 0, 0}), "7(0(0(0(0))))");
  EXPECT_EQ(drafted({4, 0, 0}), "7(0(0(0(0))))");
  EXPECT_EQ(drafted({2, 2, 0}), "7(0(0))");
  EXPECT_EQ(drafted({2, 3, 0}), "7(1(1(1)))");
  EXPECT_EQ(drafted({2, 0, 0}), "7(1(1(1(1))))");
}

TEST_F(HybridTest, WhoHoldsNoLongerTextIsNotChosen) {
  told_[0] = {.promise = 9, .longest_text = 3};
  told_[1] = {.promise = 8, .longest_text = 5};
  told_[2] = {.promise = 7, .longest_text = 6};
  const auto hybrid = Make({.memory = kLong, .start = 2});
  EXPECT_EQ(hybrid->traits().longest_text, 6);
  std::vector<std::string> drafted;
  for (int length = 1; length < 8; ++length) {
    context_ =
        ContextOf(std::vector<TokenId>(static_cast<std::size_t>(length)));
    ASSERT_TRUE(hybrid->Begin(context_).ok());
    drafted.push_back(ToText(MustDraft(*hybrid, *PolicyOf("chain {nodes: 4}"),
                                       {.context = context_})));
  }
  EXPECT_EQ(drafted,
            std::vector<std::string>({"0(0(0(0)))", "0(0(0))", "0(0)",
                                      "0(1(1))", "0(1)", "0(2)", "0"}));
}

TEST_F(HybridTest, SequencesShareThePassesOfWhatTheyChose) {
  const auto hybrid = Make({.depths = {0, 2, 0}, .memory = kLong, .start = 2});
  std::vector<std::unique_ptr<Solo>> own;
  std::vector<Solo*> drafters;
  for (int i = 0; i < 6; ++i) {  // choosing 0, 1, 2, 0, 1, 2
    context_ = ContextOf({7});
    own.push_back(hybrid->Another());
    drafters.push_back(own.back().get());
    ASSERT_TRUE(drafters.back()->Begin(context_).ok());
    for (int refused = 0; refused < i % 3; ++refused)
      Round(*drafters.back(), 0);
  }
  asked_->passes = 0;
  const std::vector<TrunkTree> trees =
      DraftTogether(drafters, std::vector<Context>(6, ContextOf({7})),
                    *PolicyOf("chain {nodes: 3}"));
  EXPECT_EQ(asked_->passes, 3 + 2 + 3) << "a level one of each drafter";
  std::vector<std::string> drafted;
  for (const TrunkTree& tree : trees) drafted.push_back(ToText(tree));
  EXPECT_EQ(drafted,
            std::vector<std::string>({"7(0(0(0)))", "7(1(1))", "7(2(2(2)))",
                                      "7(0(0(0)))", "7(1(1))", "7(2(2(2)))"}));
}

TEST(Hybrid, ARankingBecomesALaw) {
  const auto hybrid = MustAsk(
      "hybrid {drafters: [{drafter: {name: copy, min_match: 1}}, {drafter: "
      "{name: random}}], start: 0.5}");
  EXPECT_EQ(hybrid->traits().draw_kinds.size(), 3);
  const Context context = BeginWith(*hybrid, {1, 2, 1, 3, 1});
  for (DrawKind draw_kind :
       {DrawKind::kIndependent, DrawKind::kWithoutReplacement})
    EXPECT_TRUE(
        Equal(AtRoot(*hybrid, context, draw_kind), Distribution::OneHot(8, 3)))
        << Name(draw_kind);
  EXPECT_EQ(Ranked(AtRoot(*hybrid, context, DrawKind::kDeterministic)),
            std::vector<TokenId>({3, 2}));
  // Where nothing can be copied, chance is asked.
  EXPECT_EQ(Ranked(AtRoot(*hybrid, BeginWith(*hybrid, {1, 2}))).size(), 8);
}

TEST(Hybrid, AllItsDraftersFollowTheText) {
  const auto hybrid = MustAsk(
      "hybrid {drafters: [{drafter: {name: random}}, {drafter: {name: copy, "
      "min_match: 1, max_match: 2}}], start: 1}");
  Context context = BeginWith(*hybrid, {1, 2});
  EXPECT_EQ(Ranked(AtRoot(*hybrid, context)).size(), 8);
  Commit(*hybrid, {3, 1, 2}, context);  // a match of two
  EXPECT_EQ(Ranked(AtRoot(*hybrid, context)), std::vector<TokenId>({3}));
}

TEST(Hybrid, RefusesWhatMakesNoSense) {
  const auto refusal = [](const std::string& keys) {
    return Refusal(absl::StrCat("hybrid {", keys, "}"));
  };
  const std::string one = "drafters: [{drafter: {name: copy}}]";
  EXPECT_EQ(refusal(one + ", memory: 1, start: 0.5"), "");
  EXPECT_THAT(refusal("drafters: []"),
              HasSubstr("'drafters' must name a drafter"));
  EXPECT_THAT(refusal(one + ", memory: 0.5"),
              HasSubstr("'memory' must be at least 1"));
  EXPECT_THAT(refusal(one + ", start: 0"),
              HasSubstr("'start' must be more than 0"));
  EXPECT_THAT(refusal(one + ", explore: 1"),
              HasSubstr("unknown key 'explore'"));
  EXPECT_THAT(refusal("drafters: [{drafter: {name: copy}, depth: -1}]"),
              HasSubstr("'depth' must be at least 1, or 0 for no limit"));
  EXPECT_THAT(refusal("drafters: [{drafter: {name: copy}}, {name: copy}]"),
              HasSubstr("drafter 2 of a hybrid: unknown key 'name'"));
}

}  // namespace
}  // namespace banyan
