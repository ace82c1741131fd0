// What drafters read of the target while decoding, and what is kept for
// records, against computing it from nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "core/transformer/transformer.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "drafters/drafter.h"
#include "drafters/small_models/small_model/small_model.h"
#include "tests/conformance/toys.h"
#include "tests/core/transformer/made_model.h"
#include "tests/core/transformer/walk.h"
#include "tests/support/decoding.h"
#include "tests/support/decorated.h"
#include "tests/support/host_part.h"
#include "tests/support/must_read.h"
#include "tests/support/shared_models.h"
#include "tests/support/table_drafter.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

// The hidden states of a text's tokens in one fresh pass.
std::vector<std::vector<float>> Fresh(const Model& target,
                                      absl::Span<const TokenId> text, int tap) {
  const auto session = target.NewSession();
  TokenBatch batch;
  for (TokenId token : text) {
    batch.positions.push_back(batch.size());
    batch.parents.push_back(batch.size() - 1);
    batch.tokens.push_back(token);
  }
  const ScoreRequest request = {session.get(), &batch, {tap}};
  const auto scores = target.Score({&request, 1});
  Check(scores.ok(), scores.status().message());
  std::vector<std::vector<float>> states;
  for (int row = 0; row < batch.size(); ++row)
    states.push_back(
        MustReadHidden(*scores->front(), 0, row, target.hidden_size()));
  return states;
}

// Holds every feature it is given against a fresh pass, to the bit.
class WatchingSession : public DecoratedSession {
 public:
  WatchingSession(std::unique_ptr<DraftSession> inner,
                  const std::vector<int>& taps, const Model& target, int* seen)
      : DecoratedSession(std::move(inner)),
        taps_(taps),
        target_(target),
        seen_(seen) {}

  absl::Status Begin(const Context& context) override {
    EXPECT_EQ(context.features.rows,
              static_cast<int>(context.tokens.size()) - 1);
    Compare(context);
    return DecoratedSession::Begin(context);
  }
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override {
    EXPECT_LE(context.features.rows,
              static_cast<int>(outcome.verdict.path.size()) + 1);
    Compare(context);
    return DecoratedSession::Observe(context, outcome);
  }

 private:
  void Compare(const Context& context) {
    const absl::Span<const TokenId> text(context.tokens);
    if (text.size() == 1) return;  // nothing was read yet
    for (int tap : taps_) {
      const auto fresh = Fresh(target_, text.first(text.size() - 1), tap);
      const int rows = context.features.rows;
      for (int row = 0; row < rows; ++row) {
        const auto own = context.features.At(tap, row);
        const auto& expected = fresh[fresh.size() - rows + row];
        EXPECT_EQ(std::vector<float>(own.begin(), own.end()), expected)
            << "tap " << tap << ", row " << row << " of " << rows;
        ++*seen_;
      }
    }
  }

  const std::vector<int>& taps_;
  const Model& target_;
  int* seen_;
};

// Drafts as a small model, with WatchingSessions.
class Watcher : public Decorated {
 public:
  Watcher(std::shared_ptr<const Model> model, const Model& target, int* seen)
      : Watcher(std::make_unique<SmallModel>(std::move(model),
                                             SamplingRule({.temperature = 0})),
                target, seen) {}

  std::unique_ptr<DraftSession> NewSession() const override {
    return std::make_unique<WatchingSession>(inner().NewSession(),
                                             traits().taps, target_, seen_);
  }

 private:
  Watcher(std::unique_ptr<Drafter> inner, const Model& target, int* seen)
      : Decorated(WithTaps(inner->traits()), std::move(inner)),
        target_(target),
        seen_(seen) {}
  static DrafterTraits WithTaps(DrafterTraits traits) {
    traits.taps = {kAfterFinalNorm, 1};
    return traits;
  }

  const Model& target_;
  int* seen_;
};

class FeaturesOn : public testing::TestWithParam<std::string> {};

TEST_P(FeaturesOn, AreThoseOfTheCommittedTokensWhateverWasDrafted) {
  const std::string& device = GetParam();
  if (device == "emulated_gpu" && LeftOutOnHost("made"))
    GTEST_SKIP() << kHostLeftOut;
  const auto backend = BackendOf(device);
  const MadeModel made({});
  const auto target = made.Load(backend);
  const std::shared_ptr<Transformer> drafting =
      made.Load(backend, WeightFormat::kQ8);
  for (const char* policy :
       {"chain {nodes: 3}", "expansion {branching: [3, 2]}"}) {
    int seen = 0;
    std::vector<Trunk> trunks;
    trunks.push_back(
        TrunkOf(std::make_unique<Watcher>(drafting, *target, &seen), policy,
                DrawKind::kDeterministic));
    auto decoder =
        WithTrunks(*target, "greedy", std::move(trunks), {.temperature = 0});
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    decoder->StayOnHost();  // the device's rounds keep features to themselves
    // A prompt longer than one pass of the prefill, which takes 256 tokens,
    // where that is no matter of minutes; and one without any.
    const int size = device == "cpu" ? 300 : 20;
    std::vector<TokenId> longer;
    for (int i = 0; i < size; ++i) longer.push_back(1 + i * 5 % 40);
    for (const auto& prompt : {longer, std::vector<TokenId>{1}})
      MustDecode(*decoder, {.id = 1, .tokens = prompt}, {.max_new_tokens = 20});
    EXPECT_GT(seen, 2 * (size + 10));
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, FeaturesOn, testing::ValuesIn(DeviceNames()),
                         [](const auto& row) { return row.param; });

// A round of a toy, with its facts.
struct Facts {
  RoundRecord round;
  std::vector<TokenId> text;  // before it
};

Facts OneRound(double temperature,
               DrawKind draw_kind = DrawKind::kIndependent) {
  const auto target = Toy({.vocab_size = 4, .seed = 1});
  std::vector<Trunk> trunks;
  trunks.push_back(
      TrunkOf(std::make_unique<TableDrafter>(Toy({.vocab_size = 4, .seed = 2})),
              "expansion {branching: [2, 2]}", draw_kind));
  auto decoder = WithTrunks(*target, "multi_round", std::move(trunks),
                            {.temperature = temperature});
  Check(decoder.ok(), decoder.status().message());
  decoder->KeepFacts();
  const Prompt prompt = {.tokens = {target->begin(), 2, 1}};
  auto sequence = decoder->Begin(prompt, {.max_new_tokens = 9});
  Check(sequence.ok(), sequence.status().message());
  SeededSource random(7);
  auto round = decoder->Step(*sequence, random);
  Check(round.ok(), round.status().message());
  return {*std::move(round), prompt.tokens};
}

std::vector<TokenId> TextAt(const Facts& facts, int node) {
  std::vector<TokenId> text = facts.text;
  for (TokenId token : TokensTo(facts.round.tree, node)) text.push_back(token);
  return text;
}

TEST(TargetFacts, AreWhatTheTargetAndTheDrafterSay) {
  for (double temperature : {1.0, 0.5}) {
    const Facts facts = OneRound(temperature);
    const auto target = Toy({.vocab_size = 4, .seed = 1});
    const auto drafter = Toy({.vocab_size = 4, .seed = 2});
    const SamplingRule rule({.temperature = temperature});
    const DraftTree& tree = facts.round.tree;
    ASSERT_EQ(facts.round.facts.probability.size(),
              static_cast<std::size_t>(tree.size()));
    ASSERT_GT(tree.size(), 3);
    EXPECT_EQ(facts.round.facts.probability[0], 1);
    for (int node = 0; node < tree.size(); ++node) {
      const auto at = static_cast<std::size_t>(node);
      if (node > 0) {
        const Distribution p =
            LawAfter(*target, TextAt(facts, tree.node(node).parent), rule);
        EXPECT_NEAR(facts.round.facts.probability[at],
                    p.Mass(tree.node(node).token), 1e-15);
      }
      ASSERT_EQ(facts.round.facts.overlap[at].size(),
                tree.node(node).lists.size());
      if (tree.node(node).lists.empty()) continue;
      double overlap = 0;
      const auto p = Masses(LawAfter(*target, TextAt(facts, node), rule));
      const auto q = Masses(LawAfter(*drafter, TextAt(facts, node)));
      for (std::size_t i = 0; i < p.size(); ++i)
        overlap += std::min(p[i], q[i]);
      EXPECT_NEAR(facts.round.facts.overlap[at][0], overlap, 1e-15);
    }
  }
}

TEST(TargetFacts, OfARankedDrawTheOverlapIsTheTargetsProbability) {
  const Facts facts = OneRound(0.5, DrawKind::kDeterministic);
  const auto target = Toy({.vocab_size = 4, .seed = 1});
  const DraftTree& tree = facts.round.tree;
  int lists = 0;
  for (int node = 0; node < tree.size(); ++node)
    for (const DrawList& list : tree.node(node).lists) {
      const Distribution p = LawAfter(*target, TextAt(facts, node),
                                      SamplingRule({.temperature = 0.5}));
      EXPECT_NEAR(facts.round.facts.overlap[static_cast<std::size_t>(node)][0],
                  p.Mass(list.draws.front().token), 1e-15);
      ++lists;
    }
  EXPECT_EQ(lists, 3);
}

TEST(TargetFacts, JudgeTheEmittedTokensAtTemperatureOne) {
  const Facts facts = OneRound(0.5);
  const auto target = Toy({.vocab_size = 4, .seed = 1});
  std::vector<TokenId> text = facts.text;
  const std::vector<TokenId>& emitted = facts.round.emitted;
  ASSERT_GE(facts.round.facts.log_probability.size(), emitted.size());
  for (std::size_t i = 0; i < emitted.size(); ++i) {
    std::vector<double> masses = Masses(LawAfter(*target, text));
    EXPECT_NEAR(facts.round.facts.log_probability[i],
                std::log(masses[static_cast<std::size_t>(emitted[i])]), 1e-12);
    std::sort(masses.rbegin(), masses.rend());
    EXPECT_NEAR(facts.round.facts.logit_gap[i], std::log(masses[0] / masses[1]),
                1e-12);
    text.push_back(emitted[i]);
  }
}

TEST(TargetFacts, AreNotGatheredUnlessAskedFor) {
  const auto target = Toy({.vocab_size = 4, .seed = 1});
  auto decoder = WithTrunks(*target, "multi_round", {});
  ASSERT_TRUE(decoder.ok());
  auto sequence =
      decoder->Begin({.tokens = {target->begin(), 2}}, {.max_new_tokens = 3});
  ASSERT_TRUE(sequence.ok());
  SeededSource random(1);
  const auto round = decoder->Step(*sequence, random);
  ASSERT_TRUE(round.ok());
  EXPECT_TRUE(round->facts.probability.empty());
}

}  // namespace
}  // namespace banyan
