// Rounds of several steps on every device that runs them, of vocabularies of
// less than a run of a row, of one block of runs and of several blocks: what
// they draw, judge and report is what the reference finds, bit for bit.
#include "core/transformer/round_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/ops/backend.h"
#include "core/prob/draw_kind.h"
#include "core/prob/sampling_rule.h"
#include "core/round/plan.h"
#include "tests/core/ops/every_backend.h"
#include "tests/support/dice.h"
#include "tests/support/sanitized.h"

namespace banyan {
namespace {

constexpr int kRounds = 2;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A logit that is no number, of all rows of one step.
struct Fault {
  int step = -1;
  std::vector<int> tokens;
};

// `kind`: few different logits, so that many masses are alike; or many.
Numbers Logits(int rows, int vocab, int kind, const Fault& fault, int step,
               Dice& dice) {
  Numbers numbers = SoftNumbers(rows, vocab, 6, dice);
  if (kind == 0)
    for (float& number : numbers.data) number = std::floor(number);
  if (step == fault.step)
    for (int row = 0; row < rows; ++row)
      for (int token : fault.tokens) numbers.at(row, token) = kNan;
  return numbers;
}

std::string TextOf(const RoundFindings& found) {
  std::string text =
      absl::StrCat(absl::StrJoin(found.tokens, " "), " below ",
                   absl::StrJoin(found.parents, " "), "; path ",
                   absl::StrJoin(found.path, " "), " then ", found.next);
  for (const RoundFindings::Draw& draw : found.draws)
    absl::StrAppendFormat(&text, "\n%d: drafter %d draws %d at %d with %a",
                          draw.time, draw.drafter, draw.token, draw.node,
                          draw.q);
  return text;
}

// What rounds of a plan find on a backend, or how they fail.
std::string Found(Backend& backend, const RoundPlan& plan, int kind,
                  const Fault& fault) {
  auto steps = RoundSteps::Create(backend, plan);
  if (!steps.ok()) return std::string(steps.status().message());
  const LaidOut& laid_out = (*steps)->laid_out();
  RoundStart start = {.text = {1, 2, 3, 2}, .prompt = 7, .target = 3};
  start.drafts.assign(plan.drafters.size(), 3);
  if (plan.drafters.empty()) start.drafts.clear();
  EXPECT_TRUE((*steps)->Begin(start).ok());
  Dice dice(11);
  std::string all;
  int step = 0;
  for (int round = 0; round < kRounds; ++round) {
    Desk desk(backend);
    const auto put = [&](int rows) {
      return desk.Put(Logits(rows, plan.vocab_size, kind, fault, step++, dice));
    };
    for (int drafter = 0; drafter < static_cast<int>(plan.drafters.size());
         ++drafter) {
      const std::vector<int>& widths = laid_out.widths(drafter);
      const int levels = static_cast<int>(widths.size());
      for (int level = 0; level < levels; ++level) {
        EXPECT_TRUE((*steps)->Select(drafter, level).ok());
        const int rows =
            plan.drafters[static_cast<std::size_t>(drafter)].by_depth
                ? 1
                : widths[static_cast<std::size_t>(level)];
        EXPECT_TRUE((*steps)->Draw(drafter, level, put(rows)).ok());
      }
      EXPECT_TRUE((*steps)->Select(drafter, levels).ok());
    }
    EXPECT_TRUE((*steps)->Merge().ok());
    EXPECT_TRUE((*steps)->Judge(put(laid_out.layout().rows)).ok());
    const auto found = (*steps)->Read();
    absl::StrAppend(&all, "round ", round, ": ",
                    found.ok() ? TextOf(*found) : found.status().message(),
                    "\n");
    if (!found.ok()) break;
  }
  return all;
}

RoundPlan PlanOf(int vocab, const SamplingOptions& options, JudgeKind judge,
                 DrawKind draws) {
  const SamplingRule rule(options);
  return {.drafters = {{.name = "chain",
                        .shape = FixedPlaces{.parents = {-1, 0, 1, 0}},
                        .draw_kind = draws,
                        .rule = rule,
                        .used_vocab = vocab - 3,
                        .most_levels = 2},
                       {.name = "ranked",
                        .shape = RerankedShape{2, 2, 4},
                        .draw_kind = DrawKind::kDeterministic,
                        .rule = SamplingRule({.temperature = 1}),
                        .used_vocab = vocab,
                        .most_levels = 2}},
          .judge = judge,
          .target_rule = rule,
          .vocab_size = vocab,
          .used_vocab = vocab,
          .seed = 5};
}

// The first backend of each device and the last: on the host device the threads
// take turns in another order.
std::vector<std::shared_ptr<Backend>> OthersOf(const Fleet& fleet) {
  std::vector<std::shared_ptr<Backend>> others;
  for (const Kin& kin : fleet.kin) {
    others.push_back(kin.backends.front());
    if (kin.backends.size() > 1) others.push_back(kin.backends.back());
  }
  return others;
}

const std::vector<int> kVocabularies =
    kSanitized ? std::vector{40, 4097} : std::vector{40, 4096, 9001};

TEST(RoundSteps, FindTheSameOnEveryDevice) {
  Fleet fleet;
  std::vector<std::string> texts;
  for (int vocab : kVocabularies)
    for (const SamplingOptions& options :
         {SamplingOptions{.temperature = 0}, SamplingOptions{.temperature = 1},
          SamplingOptions{.temperature = 0.7, .top_k = 9},
          SamplingOptions{.temperature = 1.3, .top_p = 0.6},
          SamplingOptions{.repetition_penalty = 1.4,
          .banned = {2, vocab / 2, vocab - 1}}})
      for (const auto& [judge, draws] :
           {std::pair(JudgeKind::kRounds, DrawKind::kWithoutReplacement),
            std::pair(JudgeKind::kRounds, DrawKind::kIndependent),
            std::pair(JudgeKind::kMatch, DrawKind::kIndependent)}) {
        const RoundPlan plan = PlanOf(
            vocab, options,
            options.temperature == 0 ? JudgeKind::kGreedy : judge, draws);
        const int kind = static_cast<int>(texts.size()) % 2;
        const std::string expected = Found(*fleet.reference, plan, kind, {});
        texts.push_back(expected);
        for (const auto& backend : OthersOf(fleet))
          ASSERT_EQ(Found(*backend, plan, kind, {}), expected)
              << vocab << " tokens, temperature " << options.temperature;
      }
  EXPECT_EQ(texts.size(), kVocabularies.size() * 5 * 3);
  for (const std::string& text : texts)
    EXPECT_NE(text.find("round 1"), text.npos) << text;
}

// The first logit that is no number is named, wherever it stands, also if it is
// banned; and a row of banned tokens only is told from one.
TEST(RoundSteps, FailAlikeOnEveryDevice) {
  Fleet fleet;
  for (int vocab : kVocabularies)
    for (int step : {0, 1, 3, 4}) {
      const RoundPlan plan = PlanOf(vocab, {.banned = {vocab - 5, 0}},
                                    JudgeKind::kRounds, DrawKind::kIndependent);
      for (const Fault& fault :
           {Fault{step, {vocab - 4}}, Fault{step, {vocab - 5, vocab - 4}},
            Fault{step, {vocab - 6, vocab / 2, 0}}}) {
        const std::string expected = Found(*fleet.reference, plan, 1, fault);
        EXPECT_NE(expected.find(absl::StrCat(
                      "token ", *std::min_element(fault.tokens.begin(),
                                                  fault.tokens.end()))),
                  expected.npos)
            << expected;
        for (const auto& backend : OthersOf(fleet))
          ASSERT_EQ(Found(*backend, plan, 1, fault), expected) << vocab;
      }
    }
  SamplingOptions nothing;
  for (TokenId token = 0; token < 4097; ++token)
    nothing.banned.push_back(token);
  const RoundPlan plan =
      PlanOf(4097, nothing, JudgeKind::kRounds, DrawKind::kIndependent);
  const std::string expected = Found(*fleet.reference, plan, 1, {});
  EXPECT_NE(expected.find("no token"), expected.npos) << expected;
  for (const auto& backend : OthersOf(fleet))
    EXPECT_EQ(Found(*backend, plan, 1, {}), expected);
}

}  // namespace
}  // namespace banyan
