#include "drafters/small_models/retokenized/retokenized.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
#include "core/tokenizer/growing_text.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/vocabulary.h"
#include "tests/drafters/asking.h"
#include "tests/drafters/small_models/other_models.h"
#include "tests/drafters/trying.h"
#include "tests/support/drafting.h"
#include "tests/support/made/toy_tokenizer.h"
#include "tests/support/shared_models.h"
#include "tests/support/solo.h"
#include "tree/draft_tree.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Ids = std::vector<TokenId>;

OtherPair Letters(int seed = 4) {
  return OtherPair({"a", "b", "c", "ab", "bca", "ca", "<end>"},
                   {"b", "<stop>", "ab", "a", "ba", "c", "aab"}, seed);
}

// Returns a pair whose model writes this text letter by letter after the first
// `behind` tokens, whatever these are, and then ends the text.
OtherPair Writing(const std::vector<std::string>& target,
                  const std::string& text, std::size_t behind) {
  OtherPair pair(target, {"<stop>", "a", "b", "c", "d", " "}, 1);
  Ids script;
  for (const char letter : text)
    script.push_back(*pair.own->FindToken(std::string(1, letter)));
  pair.model = std::make_shared<TableModel>(
      6, [script, behind](absl::Span<const TokenId> so_far) {
        std::vector<double> masses(6, 0);
        const std::size_t at = so_far.size() - behind;
        masses[at < script.size() ? static_cast<std::size_t>(script[at]) : 0] =
            1;
        return masses;
      });
  return pair;
}

Solo Made(const OtherPair& pair, int write = 32) {
  return Solo(
      std::make_unique<Retokenized>(pair.vocab_size(), pair.Open(), write));
}

// The chain that is drafted, as deep as it goes.
Ids Drafted(Solo& drafter, const Context& context, int gamma = 20) {
  const TrunkTree tree =
      MustDraft(drafter, *PolicyOf(absl::StrCat("chain {nodes: ", gamma, "}")),
                {.draw_kind = DrawKind::kDeterministic, .context = context});
  Ids tokens;
  for (int node = 1; node < tree.size(); ++node)
    tokens.push_back(tree.node(node).token);
  return tokens;
}

Ids DraftedAfter(const OtherPair& pair, const Ids& prompt, int gamma = 20,
                 int write = 32) {
  Solo drafter = Made(pair, write);
  const Context context = BeginWith(drafter, prompt);
  return Drafted(drafter, context, gamma);
}

TEST(Retokenized, DraftsInTheTargetsTokensWhatWasWritten) {
  const std::vector<std::string> target = {"a", "b", "c", "ab", "abc", "ca"};
  // After cb it writes abccacb and ends.
  EXPECT_THAT(DraftedAfter(Writing(target, "abccacb", 2), {2, 1}),
              ElementsAre(4, 5, 2, 1));
  // What it ends stays; there is no token for it.
  EXPECT_THAT(DraftedAfter(Writing(target, "ab", 2), {2, 1}), ElementsAre(3));
  // abc may come of the last two.
  EXPECT_THAT(DraftedAfter(Writing(target, "bab", 2), {2, 1}, 20, 3),
              ElementsAre(1));
  EXPECT_THAT(DraftedAfter(Writing(target, "abccacb", 2), {2, 1}, 2),
              ElementsAre(4, 5));
}

TEST(Retokenized, EndsATextAsTheTargetDoes) {
  const std::vector<std::string> target = {"a", "b", "<end>", "ab"};
  EXPECT_THAT(DraftedAfter(Writing(target, "aab", 1), {1}),
              ElementsAre(0, 3, 2));
  EXPECT_THAT(DraftedAfter(Writing(target, "", 1), {1}), ElementsAre(2));
}

// The target has ab: after an a it does not go on with a b.
TEST(Retokenized, DraftsNothingThatTheTargetWouldCutOtherwise) {
  const std::vector<std::string> target = {"a", "b", "c", "ab"};
  EXPECT_THAT(DraftedAfter(Writing(target, "bcc", 2), {2, 0}), IsEmpty());
  EXPECT_THAT(DraftedAfter(Writing(target, "cbc", 2), {2, 0}),
              ElementsAre(2, 1, 2));
  // Cut so by the target itself, further back, it does no harm.
  EXPECT_THAT(DraftedAfter(Writing(target, "cbc", 4), {0, 1, 2, 2}),
              ElementsAre(2, 1, 2));
}

TEST(Retokenized, WritesSoManyTokensARound) {
  const std::vector<std::string> target = {"a", "b", "c"};
  const OtherPair pair = Writing(target, "abcabcabc", 1);
  for (int write : {1, 2, 5})
    EXPECT_EQ(DraftedAfter(pair, {0}, 20, write).size(), write);
}

TEST(Retokenized, DraftsNothingBehindWhatItHolds) {
  OtherPair pair = Writing({"a", "b", "c"}, "abcabcabc", 2);
  const auto model = pair.model;
  for (const int limit : {1, 2, 3, 5}) {
    pair.model = Limited(model, limit);
    EXPECT_EQ(DraftedAfter(pair, {0, 1}).size(), std::max(0, limit - 1));
  }
}

TEST(Retokenized, StopsAtATokenThatSpellsNothing) {
  OtherPair pair({"a", "b"}, {"a", "<x>", "b"}, 1);
  pair.model =
      std::make_shared<TableModel>(3, [](absl::Span<const TokenId> text) {
        return text.size() < 3 ? std::vector<double>{0, 0, 1}
                               : std::vector<double>{0, 1, 0};
      });
  EXPECT_THAT(DraftedAfter(pair, {0}), ElementsAre(1, 1));
}

// Two bytes make é; the text ends between them.
TEST(Retokenized, GoesOnInsideACharacterOnlyAsItWasBegun) {
  OtherPair pair = Bytes({"é"});
  const auto id = [&](const char* token) {
    return *pair.own->FindToken(token);
  };
  const auto after_half = [&](TokenId written) {
    pair.model = std::make_shared<TableModel>(
        pair.own->vocab_size(), [=](absl::Span<const TokenId> text) {
          std::vector<double> masses(257, 0);
          masses[static_cast<std::size_t>(text.size() == 2 ? written
                                                           : id("x"))] = 1;
          return masses;
        });
    return DraftedAfter(pair, {'a', 0xC3}, 3);
  };
  EXPECT_THAT(after_half(id("©")), ElementsAre(0xA9, 'x', 'x'));
  // A half and an x: the half is none, and no token spells that it is none.
  EXPECT_THAT(after_half(id("x")), IsEmpty());
  pair = Bytes({"é"}, /*without=*/0xC3);
  EXPECT_THAT(DraftedAfter(pair, {'a', 0xC3}), IsEmpty())
      << "it cannot read it";
}

// The last part of the target's text between special tokens.
std::string LastPart(const OtherPair& pair, const Ids& tokens) {
  std::string part;
  for (TokenId token : tokens) {
    if (pair.target->IsSpecial(token))
      part.clear();
    else
      part += *pair.target->TokenBytes(token);
  }
  return part;
}

Ids TargetCut(const OtherPair& pair, const std::string& text) {
  const auto ids = pair.target->Encode(text, {.add_special = false});
  EXPECT_TRUE(ids.ok()) << ids.status();
  return *ids;
}

// Of the tokens of `text` those that it begins with however it goes on, by
// three letters.
std::size_t Stays(const OtherPair& pair, const std::string& text,
                  const std::string& more = "") {
  const Ids own = TargetCut(pair, text);
  const Ids other = TargetCut(pair, text + more);
  std::size_t same = static_cast<std::size_t>(
      std::mismatch(own.begin(), own.end(), other.begin(), other.end()).first -
      own.begin());
  if (more.size() < 3)
    for (const char letter : {'a', 'b', 'c'})
      same = std::min(same, Stays(pair, text, more + letter));
  return same;
}

// What a drafter in use drafts is what one drafts that reads and writes all
// from the start, and all of it stays however the text goes on.
void ExpectDraftsAsFromTheStart(const OtherPair& pair, Solo& drafter,
                                const Context& context, std::size_t& drafted) {
  Ids own = pair.Cut(context.tokens);
  std::string text = LastPart(pair, context.tokens);
  const Ids before = TargetCut(pair, text);
  const Spellings spellings(pair.target);
  GrowingText growing(spellings);
  ASSERT_TRUE(growing.Append(text).ok());
  for (int written = 0; written < 9 && !own.empty(); ++written) {
    const TokenId next =
        LawAfter(*pair.model, own, SamplingRule({.temperature = 0})).Argmax();
    if (pair.own->IsSpecial(next)) {
      growing.End(pair.target->eos_id());
      break;
    }
    own.push_back(next);
    text += *pair.own->TokenBytes(next);
    ASSERT_TRUE(growing.Append(*pair.own->TokenBytes(next)).ok());
  }
  Ids expected = {growing.tokens().begin(),
                  growing.tokens().begin() + growing.settled()};
  const bool agrees =
      expected.size() >= before.size() &&
      std::equal(before.begin(), before.end(), expected.begin());
  expected.erase(
      expected.begin(),
      agrees ? expected.begin() + static_cast<std::ptrdiff_t>(before.size())
             : expected.end());
  const bool ended =
      !expected.empty() && pair.target->IsSpecial(expected.back());
  EXPECT_EQ(Drafted(drafter, context), expected)
      << "after '" << pair.TextOf(context.tokens) << "'";
  const std::size_t stays = Stays(pair, text);
  if (!ended && !expected.empty()) {
    EXPECT_LE(before.size() + expected.size(), stays);
  }
  drafted += expected.size();
}

TEST(Retokenized, DraftsAsOneThatReadsTheWholeTextWhateverTheVerdicts) {
  std::size_t drafted = 0;
  for (int seed = 1; seed < 9; ++seed) {
    const OtherPair pair = Letters(seed);
    Solo drafter = Made(pair, 9);
    std::mt19937_64 bits(static_cast<std::uint64_t>(seed));
    Context context = BeginWith(drafter, {0, 1, 3});
    for (int round = 0; round < 40; ++round) {
      SCOPED_TRACE(absl::StrCat("seed ", seed, ", round ", round));
      if (bits() % 3 == 0) Drafted(drafter, context, 2);  // abandoned
      ExpectDraftsAsFromTheStart(pair, drafter, context, drafted);
      const TrunkTree tree = MustDraft(
          drafter,
          *PolicyOf(bits() % 2 == 0 ? "chain {nodes: 3}"
                                    : "expansion {branching: [2, 2]}"),
          {.draw_kind = DrawKind::kDeterministic, .context = context});
      EndRound(tree, pair.vocab_size(), bits, {&drafter}, context);
    }
  }
  EXPECT_GT(drafted, 300);
}

TEST(Retokenized, SequencesTogetherDraftAsEachAlone) {
  const OtherPair pair = Letters(3);
  const std::unique_ptr<TreePolicy> policy = PolicyOf("chain {nodes: 3}");
  const Solo first = Made(pair, 9);
  std::vector<std::unique_ptr<Solo>> own;
  std::vector<Solo*> drafters;
  std::vector<Context> contexts;
  for (const Ids& prompt : {Ids{0, 1, 1}, {3, 0, 2, 1, 0}, {2}, {1, 6}}) {
    own.push_back(first.Another());
    drafters.push_back(own.back().get());
    contexts.push_back(BeginWith(*own.back(), prompt));
  }
  std::mt19937_64 bits(2);
  for (int round = 0; round < 6; ++round) {
    const std::vector<TrunkTree> together =
        DraftTogether(drafters, contexts, *policy);
    for (std::size_t i = 0; i < drafters.size(); ++i) {
      Solo alone = Made(pair, 9);
      ASSERT_TRUE(alone.Begin(contexts[i]).ok());
      ExpectSameTree(together[i],
                     DraftTogether({&alone}, {contexts[i]}, *policy).front());
      EndRound(together[i], pair.vocab_size(), bits, {drafters[i]},
               contexts[i]);
    }
  }
}

// However long the text is: its last tokens, and those that are written.
TEST(Retokenized, ReadsNoRowOfTheTextTwiceOnceItHasSettled) {
  OtherPair pair = Letters();
  int rows = 0;
  const auto model = pair.model;
  pair.model =
      std::make_shared<TableModel>(7, [&rows](absl::Span<const TokenId> text) {
        ++rows;
        std::vector<double> masses(7, 0);
        masses[2 + text.size() % 5] = 1;
        return masses;
      });
  Solo drafter = Made(pair, 9);
  Context context = BeginWith(drafter, {0, 1, 3});
  std::mt19937_64 bits(2);
  for (int round = 0; round < 300; ++round) {
    rows = 0;
    const TrunkTree tree =
        MustDraft(drafter, *PolicyOf("chain {nodes: 3}"),
                  {.draw_kind = DrawKind::kDeterministic, .context = context});
    EXPECT_LE(rows, 20) << "after " << context.tokens.size() << " tokens";
    EndRound(tree, 6, bits, {&drafter}, context);
  }
  EXPECT_GT(context.tokens.size(), 400);
}

TEST(Retokenized, GivesRankedCandidatesAlone) {
  EXPECT_THAT(Made(Letters()).traits().draw_kinds,
              ElementsAre(DrawKind::kDeterministic));
}

TEST(Retokenized, RefusesWhatItCannotUse) {
  const auto refusal = [](const std::shared_ptr<const Tokenizer>& target,
                          const std::shared_ptr<const Tokenizer>& own,
                          const std::string& keys) {
    return RefusalBeside(target, own, "retokenized " + keys);
  };
  const auto ab = ToyTokenizer({"a", "b"});
  EXPECT_EQ(refusal(ab, ToyTokenizer({"x", "y"}), "{model: other}"), "")
      << "no token need be common";
  EXPECT_THAT(refusal(ab, nullptr, "{model: other}"),
              HasSubstr("the model has no tokenizer.json"));
  EXPECT_THAT(refusal(nullptr, ab, "{model: other}"),
              HasSubstr("the target has no tokenizer.json"));
  EXPECT_EQ(refusal(ab, ab, "{model: other, write: 256}"), "");
  for (const char* write : {"0", "257"})
    EXPECT_THAT(
        refusal(ab, ab, absl::StrCat("{model: other, write: ", write, "}")),
        HasSubstr("'write' must lie between 1 and 256"));
  EXPECT_THAT(refusal(ab, ab, "{}"), HasSubstr("missing key 'model'"));
}

}  // namespace
}  // namespace banyan
