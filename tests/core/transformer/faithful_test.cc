// A token's logits depend on the committed prefix and its ancestors alone, bit
// for bit: every family, every weight format; on the cpu with every instruction
// set, one thread and two, and on the host device.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/weight.h"
#include "core/prob/sampling_rule.h"
#include "core/transformer/transformer.h"
#include "tests/core/transformer/walk.h"
#include "tests/support/dice.h"
#include "tests/support/host_part.h"
#include "tests/support/made/golden_model.h"
#include "tests/support/must_read.h"

namespace banyan {
namespace {

constexpr WeightFormat kFormats[] = {WeightFormat::kF32, WeightFormat::kBf16,
                                     WeightFormat::kQ8, WeightFormat::kQ4};

class Faithful : public testing::TestWithParam<std::string> {
 protected:
  using Test = std::function<void(const Transformer& model, Oracle& oracle,
                                  Dice& dice, const std::string& what)>;

  // Runs `test` on every backend, with the same dice for all of them and the
  // oracle of the first.
  static void Run(WeightFormat format,
                  const std::vector<std::shared_ptr<Backend>>& backends,
                  const Test& test) {
    const auto first = LoadGolden(GetParam(), backends.front(), format);
    Oracle oracle(*first);
    for (const auto& backend : backends) {
      const auto model = LoadGolden(GetParam(), backend, format);
      Dice dice(static_cast<std::uint64_t>(format));
      test(*model, oracle, dice,
           absl::StrCat(GetParam(), ", format ", static_cast<int>(format), ", ",
                        backend->description()));
    }
  }
  // On the cpu, in every format and order of sums.
  void Everywhere(const Test& test) {
    for (WeightFormat format : kFormats) Run(format, backends_, test);
    if (!tiles_.empty()) Run(WeightFormat::kBf16, tiles_, test);
  }
  // And on the host device, which is hundreds of times slower: in one format,
  // which the length of the family's name chooses.
  void EverywhereAndOnHost(const Test& test) {
    Everywhere(test);
    if (LeftOutOnHost(GetParam())) return;
    Run(kFormats[GetParam().size() % 3], {BackendOf("emulated_gpu")}, test);
  }

  const std::vector<std::shared_ptr<Backend>> backends_ = Backends();
  const std::vector<std::shared_ptr<Backend>> tiles_ = Backends("tiles");
};

// One token at a time, each committed before the next; the oracle prefills.
TEST_P(Faithful, DecodedOrPrefilled) {
  Everywhere([](const Transformer& model, Oracle& oracle, Dice& dice,
                const std::string& what) {
    Walk walk(model);
    for (TokenId token : RandomText(model, model.context_limit(), dice)) {
      const auto length = static_cast<int>(walk.committed().size());
      const auto scores =
          walk.Score({{token}, {length}, {TokenBatch::kCommitted}});
      ExpectFaithful(*scores, 0, 1, walk, oracle, what);
      walk.Commit({0});
    }
  });
}

TEST_P(Faithful, PrefilledInPieces) {
  EverywhereAndOnHost([](const Transformer& model, Oracle& oracle, Dice& dice,
                         const std::string& what) {
    Walk walk(model);
    for (int piece : {1, 2, 15, 0, 6, 1})
      walk.Prefill(RandomText(model, piece, dice));
    const TokenBatch batch = ChainAfter(walk.session(), {3, 1, 4});
    const auto scores = walk.Score(batch);
    ExpectFaithful(*scores, 0, 3, walk, oracle, what);
  });
}

TEST_P(Faithful, InAChain) {
  Everywhere([](const Transformer& model, Oracle& oracle, Dice& dice,
                const std::string& what) {
    for (int prefix : {0, 1, 7, 16}) {
      Walk walk(model);
      walk.Prefill(RandomText(model, prefix, dice));
      const int size = model.context_limit() - prefix;
      const auto scores =
          walk.Score(ChainAfter(walk.session(), RandomText(model, size, dice)));
      ExpectFaithful(*scores, 0, size, walk, oracle, what);
    }
  });
}

TEST_P(Faithful, InTreesOnTopOfEachOther) {
  EverywhereAndOnHost([](const Transformer& model, Oracle& oracle, Dice& dice,
                         const std::string& what) {
    for (int i = 0; i < 6; ++i) {
      Walk walk(model);
      walk.Prefill(RandomText(model, dice.Below(20), dice));
      const int calls = dice.Between(1, 4);
      for (int call = 0; call < calls; ++call) {
        const int first = walk.pending();
        const TokenBatch batch = walk.RandomBatch(dice.Between(1, 24), dice);
        const auto scores = walk.Score(batch);
        ExpectFaithful(*scores, first, batch.size(), walk, oracle, what);
      }
    }
  });
}

TEST_P(Faithful, InBatchesOfAnySize) {
  Everywhere([](const Transformer& model, Oracle& oracle, Dice& dice,
                const std::string& what) {
    Walk walk(model);
    walk.Prefill(RandomText(model, 9, dice));
    for (int size : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 33, 64, 65, 130, 256}) {
      const TokenBatch batch = walk.RandomBatch(size, dice);
      const auto scores = walk.Score(batch);
      ExpectFaithful(*scores, 0, size, walk, oracle, what);
      walk.Commit({});
    }
  });
}

// Scores trees, commits a path or nothing, again and again. The next logits are
// those of a session that was prefilled with the ids, which is the oracle's.
TEST_P(Faithful, AfterAnyHistory) {
  Everywhere([](const Transformer& model, Oracle& oracle, Dice& dice,
                const std::string& what) {
    for (int i = 0; i < 4; ++i) {
      Walk walk(model);
      if (dice.OneIn(2)) walk.Prefill(RandomText(model, dice.Below(9), dice));
      while (walk.session().length() + 1 < model.context_limit()) {
        for (int call = dice.Below(3); call >= 0; --call) {
          const int first = walk.pending();
          const TokenBatch batch = walk.RandomBatch(dice.Between(1, 12), dice);
          const auto scores = walk.Score(batch);
          const int row = dice.Below(batch.size());
          EXPECT_TRUE(SameBits(MustRead(*scores, row),
                               oracle.After(walk.Text(first + row))))
              << what << ", pending " << first;
        }
        walk.Commit(walk.RandomPath(dice));
        ASSERT_EQ(walk.session().length(), walk.committed().size());
        ASSERT_EQ(walk.session().pending(), 0);
        if (walk.session().length() + 1 >= model.context_limit()) break;
        const TokenBatch next = walk.RandomBatch(1, dice);
        const auto scores = walk.Score(next);
        ExpectFaithful(*scores, 0, 1, walk, oracle, what);
        walk.Commit({});
      }
    }
  });
}

// Up to five sessions in a call, in any order, some without logits, some with
// those of their last rows.
TEST_P(Faithful, InAnyCompany) {
  EverywhereAndOnHost([](const Transformer& model, Oracle& oracle, Dice& dice,
                         const std::string& what) {
    std::vector<Walk> walks;
    for (int i = 0; i < 5; ++i) {
      walks.emplace_back(model);
      walks.back().Prefill(RandomText(model, dice.Below(20), dice));
    }
    for (int round = 0; round < 8; ++round) {
      std::vector<std::size_t> order = {0, 1, 2, 3, 4};
      for (std::size_t i = 4; i > 0; --i)
        std::swap(order[i], order[static_cast<std::size_t>(
                                dice.Below(static_cast<int>(i) + 1))]);
      order.resize(static_cast<std::size_t>(dice.Between(1, 5)));
      std::vector<TokenBatch> batches;
      for (std::size_t i : order)
        batches.push_back(walks[i].RandomBatch(dice.Between(1, 17), dice));
      std::vector<ScoreRequest> requests;
      for (std::size_t i = 0; i < order.size(); ++i)
        requests.push_back(
            {.session = &walks[order[i]].session(),
             .batch = &batches[i],
             .logits_from =
                 dice.OneIn(2) ? 0 : dice.Between(0, batches[i].size())});
      const auto scores = model.Score(requests);
      ASSERT_TRUE(scores.ok()) << scores.status();
      for (std::size_t i = 0; i < order.size(); ++i) {
        Walk& walk = walks[order[i]];
        const int first = walk.pending();
        walk.Note(batches[i]);
        ExpectFaithful(*(*scores)[i], first, batches[i].size(), walk, oracle,
                       absl::StrCat(what, ", company of ", order.size()),
                       requests[i].logits_from);
        if (dice.OneIn(2) && walk.session().length() < 20)
          walk.Commit(walk.RandomPath(dice));
      }
    }
  });
}

// Several threads ask one model at once, each for a session of its own. What
// they were told is compared when they are done.
TEST_P(Faithful, FromSeveralThreads) {
  Everywhere([](const Transformer& model, Oracle& oracle, Dice& /*dice*/,
                const std::string& what) {
    struct Told {
      std::vector<TokenId> text;
      Logits logits;
    };
    std::vector<std::vector<Told>> told(3);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < told.size(); ++i)
      threads.emplace_back([&, i] {
        Dice dice(i);
        Walk walk(model);
        walk.Prefill(RandomText(model, 7, dice));
        for (int round = 0; round < 6; ++round) {
          const auto scores = walk.Score(walk.RandomBatch(12, dice));
          for (int row = 0; row < 12; ++row)
            told[i].push_back({walk.Text(row), MustRead(*scores, row)});
          walk.Commit(round < 4 ? walk.RandomPath(dice) : std::vector<int>{});
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (const auto& thread : told)
      for (const Told& one : thread)
        EXPECT_TRUE(SameBits(one.logits, oracle.After(one.text))) << what;
  });
}

// What is read of a row without reading all of it is what reading all gives.
TEST_P(Faithful, LawsAndTheBestOfARow) {
  Everywhere([](const Transformer& model, Oracle& /*oracle*/, Dice& dice,
                const std::string& what) {
    const SamplingRule rules[] = {
        SamplingRule({.temperature = 0}),
        SamplingRule(
            {.repetition_penalty = 1.1, .temperature = 0.8, .top_p = 0.9})};
    Walk walk(model);
    const std::vector<TokenId> text = RandomText(model, 5, dice);
    walk.Prefill(text);
    const auto scores = walk.Score(walk.RandomBatch(4, dice));
    EXPECT_EQ(scores->vocab_size(), model.vocab_size());
    for (int row = 0; row < 4; ++row) {
      const Logits logits = MustRead(*scores, row);
      for (const SamplingRule& rule : rules) {
        const auto law = scores->Law(row, rule, text, {1});
        ASSERT_TRUE(law.ok()) << law.status();
        const auto expected = rule.Apply(logits, text, {1});
        for (TokenId token = 0; token < model.vocab_size(); ++token)
          EXPECT_EQ(law->Mass(token), expected->Mass(token)) << what;
      }
      EXPECT_EQ(*scores->Best(row, 7), *BestLogits(logits, 7)) << what;
    }
  });
}

// A row's hidden states at every place: the logits' own, so to speak.
std::vector<std::vector<float>> HiddenStates(const Scores& scores, int taps,
                                             int row, int size) {
  std::vector<std::vector<float>> states;
  for (int tap = 0; tap < taps; ++tap)
    states.push_back(MustReadHidden(scores, tap, row, size));
  return states;
}

TEST_P(Faithful, HiddenStatesToo) {
  Everywhere([](const Transformer& model, Oracle& oracle, Dice& dice,
                const std::string& what) {
    std::vector<int> every = {kAfterFinalNorm};
    for (int layer = model.layers(); layer >= 0; --layer)
      every.push_back(layer);
    Walk walk(model);
    walk.Prefill(RandomText(model, 6, dice));
    const TokenBatch tree = walk.RandomBatch(20, dice);
    const ScoreRequest request = {&walk.session(), &tree, every};
    const auto scores = model.Score({&request, 1});
    ASSERT_TRUE(scores.ok()) << scores.status();
    walk.Note(tree);
    ExpectFaithful(*scores->front(), 0, tree.size(), walk, oracle, what);
    for (int row = 0; row < tree.size(); row += 3) {
      const std::vector<TokenId> text = walk.Text(row);
      const auto states =
          HiddenStates(*scores->front(), static_cast<int>(every.size()), row,
                       model.hidden_size());
      for (std::size_t tap = 0; tap < every.size(); ++tap) {
        Walk alone(model);
        alone.Prefill({text.begin(), text.end() - 1});
        const TokenBatch last = ChainAfter(alone.session(), {text.back()});
        const ScoreRequest one = {.session = &alone.session(),
                                  .batch = &last,
                                  .taps = {every[tap]},
                                  .logits_from = dice.OneIn(2) ? 1 : 0};
        const auto again = model.Score({&one, 1});
        ASSERT_TRUE(again.ok()) << again.status();
        const auto state =
            MustReadHidden(*again->front(), 0, 0, model.hidden_size());
        const Logits got(state.begin(), state.end());
        EXPECT_TRUE(SameBits(got, {states[tap].begin(), states[tap].end()}))
            << what << ", tap " << every[tap] << ", row " << row;
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, Faithful, testing::ValuesIn(GoldenNames()),
                         [](const auto& row) { return row.param; });

// The comparison would notice a single unit in the last place of a 32-bit
// logit, another sign of zero, and NaN in place of a number.
TEST(FaithfulControl, AComparisonSeesOneUlp) {
  const auto model = LoadGolden("llama", Backends().front());
  Oracle oracle(*model);
  const Logits logits = oracle.After({1, 2, 3});
  EXPECT_TRUE(SameBits(logits, logits));
  for (std::size_t i = 0; i < logits.size(); ++i) {
    Logits other = logits;
    other[i] = std::nextafter(static_cast<float>(logits[i]), 100.0F);
    EXPECT_FALSE(SameBits(other, logits)) << i;
    other[i] = std::nan("");
    EXPECT_FALSE(SameBits(other, logits)) << i;
  }
  EXPECT_FALSE(SameBits({0.0}, {-0.0}));
  // And the oracle tells texts apart.
  EXPECT_FALSE(SameBits(oracle.After({2, 1, 3}), logits));
}

}  // namespace
}  // namespace banyan
