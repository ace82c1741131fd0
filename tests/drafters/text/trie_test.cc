#include "drafters/text/trie/trie.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/drafters/asking.h"
#include "tests/drafters/text/naive_trie.h"
#include "tests/drafters/text/plans.h"
#include "tests/support/dice.h"
#include "tests/support/drafting.h"
#include "tests/support/shared_models.h"
#include "tests/support/solo.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kVocab = 8;
constexpr double kOutput = 1e-4;

Solo TrieWith(const TrieOptions& options) {
  return Solo(std::make_unique<Trie>(kVocab, options, SamplingRule()));
}

// Up to the rounding of sums and quotients.
void ExpectNear(const PlanScores& nodes, const PlanScores& expected) {
  std::vector<Path> paths, expected_paths;
  for (const auto& entry : nodes) paths.push_back(entry.first);
  for (const auto& entry : expected) expected_paths.push_back(entry.first);
  ASSERT_EQ(paths, expected_paths);
  for (const auto& [path, score] : expected)
    EXPECT_NEAR(nodes.at(path), score, 1e-15);
}

// What a trie drafter does, from its head: all branches of all texts, put anew
// into maps whenever it is asked.
class NaiveDrafter {
 public:
  explicit NaiveDrafter(const TrieOptions& options) : options_(options) {}

  // What was taken over; gives how many nodes were dropped.
  int TakeOver(const std::vector<TokenId>& output) {
    Put(output, false, 1, kept_);
    int dropped = 0;
    const auto prune = [&](TokenId first) {
      dropped += kept_[first].Prune();
      if (kept_[first].size() == 0) kept_.erase(first);
    };
    for (TokenId first : output)
      while (kept_.count(first) > 0 &&
             kept_[first].size() > options_.limits.output_nodes)
        prune(first);
    while (held() > options_.limits.nodes)
      for (TokenId first = 0; first <= kVocab; ++first)
        if (kept_.count(first) > 0) prune(first);
    return dropped;
  }
  int held() const {
    int nodes = 0;
    for (const auto& [first, trie] : kept_) nodes += trie.size();
    return nodes;
  }

  PlanScores Plan(const std::vector<TokenId>& text, int prompt_length) const {
    const auto prompt_end = text.begin() + prompt_length;
    auto tries = kept_;
    Put({text.begin(), prompt_end}, true, 1, tries);
    Put({prompt_end, text.end()}, false, Length(), tries);
    PlanScores plan;
    for (int size =
             std::min<int>(options_.max_match, static_cast<int>(text.size()));
         size >= 1; --size) {
      const Path match(text.end() - size, text.end());
      const auto trie = tries.find(match.front());
      if (trie == tries.end()) continue;
      if (PlanScores found = Below(trie->second, match); !found.empty())
        plan = std::move(found);
      if (static_cast<int>(plan.size()) + 1 >= options_.branch_length) break;
    }
    return plan;
  }

 private:
  using Tries = std::map<TokenId, NaiveTrie>;

  std::size_t Length() const {
    return static_cast<std::size_t>(options_.branch_length +
                                    options_.max_match - 1);
  }

  // Every branch that has `least` tokens after its first.
  void Put(const std::vector<TokenId>& text, bool prompt, std::size_t least,
           Tries& tries) const {
    for (std::size_t at = 0; at + least < text.size(); ++at)
      tries[text[at]].Put(
          {text.begin() + at,
           text.begin() + std::min(at + 1 + Length(), text.size())},
          prompt);
  }

  PlanScores Below(const NaiveTrie& trie, const Path& match) const {
    std::set<Path> chosen;
    const auto depth = static_cast<std::size_t>(options_.branch_length);
    const auto count = static_cast<std::size_t>(options_.nodes);
    trie.Choose(match, true, depth, (count + 1) / 2, chosen);
    trie.Choose(match, false, depth, count, chosen);
    PlanScores found;
    for (const Path& node : chosen)
      found[{node.begin() + match.size(), node.end()}] =
          trie.Mix(node) / trie.Mix({node.begin(), node.end() - 1});
    return found;
  }

  TrieOptions options_;
  Tries kept_;
};

// Text that repeats itself, of few tokens; the begin token, none of the
// vocabulary, too.
std::vector<TokenId> AnyText(Dice& dice, int length) {
  std::vector<TokenId> text;
  while (static_cast<int>(text.size()) < length) {
    const auto size = static_cast<int>(text.size());
    if (size > 4 && dice.OneIn(3)) {
      int from = dice.Below(size);
      for (int i = dice.Between(2, 6); i > 0; --i)
        text.push_back(text[static_cast<std::size_t>(from++)]);
    } else {
      text.push_back(dice.OneIn(20) ? kVocab : dice.Below(1 + dice.Below(6)));
    }
  }
  return text;
}

TrieOptions AnyOptions(Dice& dice) {
  TrieOptions options = {.branch_length = dice.Between(1, 5),
                         .max_match = dice.Between(1, 3),
                         .nodes = dice.Between(1, 14),
                         .keep_outputs = dice.OneIn(2)};
  options.limits.output_nodes = dice.Between(4, 60);
  options.limits.nodes = options.limits.output_nodes + dice.Below(150);
  return options;
}

TEST(Trie, PlansAsOneThatLooksThroughEverythingAnew) {
  int planned = 0, dropped_at_all = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const TrieOptions options = AnyOptions(dice);
    Solo drafter = TrieWith(options);
    Solo restored = TrieWith(options);  // from what was written down
    NaiveDrafter naive(options);
    int dropped = 0;
    for (int prompt = 0; prompt < 5; ++prompt) {
      Context context = ContextOf(AnyText(dice, dice.Between(1, 30)));
      const auto own = drafter.Another();
      ASSERT_TRUE(own->Begin(context).ok());
      for (int round = dice.Below(8); round >= 0; --round) {
        const PlanScores expected =
            naive.Plan(context.tokens, context.prompt_length);
        ExpectNear(ScoresOf(PlanOf(*own)), expected);
        planned += static_cast<int>(expected.size());
        Commit(*own, AnyText(dice, dice.Between(1, 6)), context);
      }
      const std::string learnt = own->End();
      EXPECT_EQ(learnt.empty(), !options.keep_outputs);
      if (!options.keep_outputs) continue;
      for (Solo* other : {&drafter, &restored})
        ASSERT_TRUE(other->Absorb(context.tokens, learnt).ok());
      dropped += naive.TakeOver({context.tokens.begin() + context.prompt_length,
                                 context.tokens.end()});
      for (const Solo* other : {&drafter, &restored}) {
        ASSERT_EQ(other->holdings().size(), 1U);
        EXPECT_EQ(other->holdings()[0].unit, "nodes");
        EXPECT_EQ(other->holdings()[0].held, naive.held());
        EXPECT_EQ(other->holdings()[0].dropped, dropped);
      }
      const auto next = restored.Another();
      const Context again = ContextOf(AnyText(dice, 8));
      ASSERT_TRUE(next->Begin(again).ok());
      ExpectNear(ScoresOf(PlanOf(*next)),
                 naive.Plan(again.tokens, again.prompt_length));
    }
    dropped_at_all += dropped;
  }
  EXPECT_GT(planned, 5000);
  EXPECT_GT(dropped_at_all, 1000);
}

// Counts the occurrences of a path in a text with at least `least` tokens after
// the path's first token.
int Occurrences(absl::Span<const TokenId> text, const Path& path,
                std::size_t least) {
  int count = 0;
  for (std::size_t at = 0; at + std::max(least, path.size() - 1) < text.size();
       ++at)
    count += text.subspan(at, path.size()) == absl::MakeSpan(path) ? 1 : 0;
  return count;
}

TEST(Trie, ScoresAreSharesOfCountsInTheText) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    Solo drafter = TrieWith({.branch_length = 3, .max_match = 1, .nodes = 30});
    Context context = ContextOf(AnyText(dice, 20));
    ASSERT_TRUE(drafter.Begin(context).ok());
    Commit(drafter, AnyText(dice, 25), context);
    const absl::Span<const TokenId> text = context.tokens;
    const absl::Span<const TokenId> prompt =
        text.first(static_cast<std::size_t>(context.prompt_length));
    const auto worth = [&](const Path& path) {
      // What is at the very end has been followed by nothing.
      const int said = Occurrences(prompt, path, 1);
      return (1 - kOutput) * said +
             kOutput * Occurrences(text.subspan(prompt.size()), path, 3);
    };
    for (const auto& [node, score] : ScoresOf(PlanOf(drafter))) {
      Path path = {context.root()};
      path.insert(path.end(), node.begin(), node.end());
      const Path above(path.begin(), path.end() - 1);
      EXPECT_NEAR(score, worth(path) / worth(above), 1e-15);
      ++compared;
    }
  }
  EXPECT_GT(compared, 500);
}

std::string Drafted(Solo& drafter, const Context& context,
                    const std::string& policy) {
  return ToText(
      MustDraft(drafter, *PolicyOf(policy),
                {.draw_kind = DrawKind::kDeterministic, .context = context}));
}

TEST(Trie, PutsThePromptFirstAndLetsOutputsDecideAmongEquals) {
  const auto drafter =
      MustAsk("trie {branch_length: 1, max_match: 1, nodes: 4}");
  // After 1: of the prompt 2 twice, 3 and 4 once; of the output 4 and 5.
  Context context = BeginWith(*drafter, {1, 2, 1, 3, 1, 2, 1, 4, 0});
  Commit(*drafter, {1, 5, 1, 4, 1, 5, 1}, context);
  EXPECT_THAT(Ranked(AtRoot(*drafter, context, DrawKind::kDeterministic)),
              ElementsAre(2, 4, 3, 5));
}

TEST(Trie, GivesHalfOfTheNodesToTheBestOfOutputs) {
  const auto drafter =
      MustAsk("trie {branch_length: 1, max_match: 1, nodes: 3}");
  Context context = BeginWith(*drafter, {1, 2, 1, 2, 1, 3, 1, 4, 0});
  Commit(*drafter, {1, 5, 1, 5, 1, 6, 1, 7, 1, 7, 1, 7, 1}, context);
  EXPECT_THAT(Ranked(AtRoot(*drafter, context, DrawKind::kDeterministic)),
              ElementsAre(2, 7, 5));
}

TEST(Trie, KnowsABranchOfTheOutputWhenItIsComplete) {
  const auto drafter = MustAsk("trie {branch_length: 2, max_match: 1}");
  Context context = BeginWith(*drafter, {0});
  Commit(*drafter, {1, 1}, context);
  EXPECT_EQ(Drafted(*drafter, context, "chain {nodes: 3}"), "1")
      << "one token follows the first 1";
  Commit(*drafter, {1}, context);
  EXPECT_EQ(Drafted(*drafter, context, "chain {nodes: 3}"), "1(1(1))");
}

TEST(Trie, LooksForLessWhereALongerMatchGivesTooLittle) {
  const std::vector<TokenId> text = {2, 1, 3, 4, 0, 5, 1, 6, 0, 2, 1};
  const auto drafter = MustAsk("trie {branch_length: 3}");
  EXPECT_EQ(Drafted(*drafter, BeginWith(*drafter, text), "chain {nodes: 4}"),
            "1(3(4(0)))")
      << "after 2 1";
  const auto longer = MustAsk("trie {branch_length: 12}");
  EXPECT_THAT(Ranked(AtRoot(*longer, BeginWith(*longer, text),
                            DrawKind::kDeterministic)),
              ElementsAre(3, 6))
      << "nine come after 2 1, where eleven were enough";
}

TEST(Trie, GoesOnFromPromptToPromptWithWhatOutputsSaid) {
  for (const char* spec :
       {"trie {branch_length: 2, max_match: 1}",
        "trie {branch_length: 2, max_match: 1, reset: never}"}) {
    const bool warm = std::string(spec).find("never") != std::string::npos;
    const auto drafter = MustAsk(spec);
    EXPECT_EQ(drafter->drafter().carried() != nullptr, warm);
    const auto first = drafter->Another();
    Context context = BeginWith(*first, {1, 2, 3});
    Commit(*first, {4, 5, 6}, context);
    const auto second = drafter->Another();
    EXPECT_TRUE(AtRoot(*second, BeginWith(*second, {4})).empty())
        << "the first prompt has not ended";
    const auto early = drafter->Another();
    Finish(*first, context);
    EXPECT_TRUE(AtRoot(*early, BeginAsMade(*early, {4})).empty())
        << "it sees what there was when it was made";
    const auto third = drafter->Another();
    EXPECT_EQ(Drafted(*third, BeginWith(*third, {4}), "chain {nodes: 3}"),
              warm ? "4(5(6))" : "4");
    EXPECT_EQ(Drafted(*third, BeginWith(*third, {5}), "chain {nodes: 3}"),
              warm ? "5(6)" : "5");
    for (TokenId of_prompt : {1, 2, 3})
      EXPECT_TRUE(AtRoot(*third, BeginWith(*third, {of_prompt})).empty());
    if (warm) {
      EXPECT_EQ(drafter->holdings().size(), 1U);
    }
  }
}

TEST(Trie, EndsInTheOrderOfPromptsAsIfTheyHadComeOneByOne) {
  const TrieOptions options = {.branch_length = 2,
                               .max_match = 1,
                               .limits = {.output_nodes = 3, .nodes = 9},
                               .keep_outputs = true};
  Dice dice(1);
  std::vector<std::vector<TokenId>> texts;
  for (int i = 0; i < 6; ++i) texts.push_back(AnyText(dice, 25));
  // Two at a time, of which the later ends first, and one by one.
  std::vector<Solo> ended;
  for (const bool together : {true, false}) {
    ended.push_back(TrieWith(options));
    Solo& drafter = ended.back();
    for (std::size_t i = 0; i < texts.size(); i += 2) {
      std::vector<std::unique_ptr<Solo>> own;
      std::vector<std::string> learnt(2);
      for (std::size_t j : {0, 1}) {
        own.push_back(drafter.Another());
        ASSERT_TRUE(own[j]->Begin(ContextOf({texts[i + j][0]})).ok());
        if (together) continue;
        ASSERT_TRUE(drafter.Absorb(texts[i + j], own[j]->End()).ok());
      }
      if (!together) continue;
      for (std::size_t j : {1, 0}) learnt[j] = own[j]->End();
      for (std::size_t j : {0, 1})
        ASSERT_TRUE(drafter.Absorb(texts[i + j], learnt[j]).ok());
    }
  }
  EXPECT_GT(ended[0].holdings()[0].dropped, 0);
  EXPECT_EQ(ended[0].holdings()[0].dropped, ended[1].holdings()[0].dropped);
  for (TokenId token = 0; token < kVocab; ++token) {
    for (Solo& drafter : ended)
      ASSERT_TRUE(drafter.Begin(ContextOf({token})).ok());
    EXPECT_EQ(ScoresOf(PlanOf(ended[0])), ScoresOf(PlanOf(ended[1])));
  }
}

TEST(Trie, RefusesBytesThatItNeverWrites) {
  const auto drafter = MustAsk("trie {reset: never}");
  const std::vector<TokenId> text = {1, 2, 3, 4};
  ByteWriter two, five;
  two.Put(2);
  five.Put(5);
  const std::string good = two.Take();
  for (const std::string& bad :
       {std::string(), good.substr(1), good + "x", five.Take()}) {
    const absl::Status status = drafter->Absorb(text, bad);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_EQ(drafter->holdings()[0].held, 0) << "it changes nothing";
  }
  ASSERT_TRUE(drafter->Absorb(text, good).ok());
  EXPECT_EQ(drafter->holdings()[0].held, 1) << "4 after 3";
  EXPECT_EQ(MustBuild("trie")->carried(), nullptr)
      << "one that forgets takes over nothing";
}

TEST(Trie, GivesEveryLawByItsRule) {
  const auto drafter = MustAsk("trie {max_match: 1}");
  const Context context = BeginWith(*drafter, {1, 2, 1, 3, 1, 2, 0, 1});
  EXPECT_THAT(drafter->traits().draw_kinds,
              testing::UnorderedElementsAreArray(kDrawKinds));
  // The last 1 has been followed by nothing.
  EXPECT_THAT(Masses(AtRoot(*drafter, context)),
              testing::Pointwise(
                  testing::DoubleNear(1e-15),
                  std::vector<double>({0, 0, 2. / 3, 1. / 3, 0, 0, 0, 0})));
  const auto greedy =
      MustAsk("trie {max_match: 1}", {.sampling = {.temperature = 0}});
  EXPECT_TRUE(Equal(AtRoot(*greedy, BeginWith(*greedy, context.tokens)),
                    Distribution::OneHot(kVocab, 2)));
  // As the target's path goes: 2 after two thirds of the 1, and so on down.
  EXPECT_GT(*drafter->Promise(context), 1);
}

TEST(Trie, RefusesWhatCannotBe) {
  EXPECT_THAT(
      Refusal("trie {branch_length: 0}"),
      HasSubstr("'branch_length' must lie between 1 and 64, found '0'"));
  EXPECT_THAT(Refusal("trie {branch_length: 65}"), HasSubstr("drafter.yaml:1"));
  EXPECT_THAT(Refusal("trie {max_match: 9}"),
              HasSubstr("'max_match' must lie between 1 and 8, found '9'"));
  EXPECT_THAT(Refusal("trie {nodes: 0}"),
              HasSubstr("'nodes' must lie between 1 and 4096, found '0'"));
  EXPECT_THAT(Refusal("trie {max_output_nodes: 0}"),
              HasSubstr("'max_output_nodes' must be at least 1"));
  EXPECT_THAT(Refusal("trie {max_nodes: 511}"),
              HasSubstr("'max_nodes' must be at least max_output_nodes, which "
                        "is 512, found '511'"));
  EXPECT_THAT(Refusal("trie {reset: often}"),
              HasSubstr("'reset' must be prompt or never, found 'often'"));
  EXPECT_THAT(Refusal("trie {length: 3}"), HasSubstr("unknown key 'length'"));
  EXPECT_THAT(Refusal("trie {max_nodes: 512, nodes: 1}"), IsEmpty());
}

}  // namespace
}  // namespace banyan
