// The steps of a round (core/round/) in plain loops, enumerated: every choice
// that they make, for one to three drafters, two rounds deep. The tokens that
// come out follow the target's distribution, and what a round keeps is the path
// that it accepted.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/draw_math.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/draw_kind.h"
#include "core/prob/sampling_rule.h"
#include "core/random/enumerating_source.h"
#include "core/random/random_source.h"
#include "core/round/book.h"
#include "core/round/distribution_step.h"
#include "core/round/draft_steps.h"
#include "core/round/judge_step.h"
#include "core/round/laid_out.h"
#include "core/round/layout.h"
#include "core/round/merge_step.h"
#include "core/round/plan.h"
#include "core/round/truncate.h"
#include "core/round/workers.h"
#include "tests/conformance/pairing.h"
#include "tests/support/dice.h"
#include "tests/support/tally.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

using Text = std::vector<TokenId>;

constexpr int kVocab = 3;
constexpr int kTarget = -1;

// What a drafter, or the target, says after a text.
std::vector<float> LogitsAfter(int seed, int whose, const Text& text) {
  Dice dice(static_cast<std::uint64_t>(seed * 100 + whose + 1));
  std::uint64_t mixed = static_cast<std::uint64_t>(dice.Below(1 << 30));
  for (const TokenId token : text)
    mixed = (mixed ^ static_cast<std::uint64_t>(token + 7)) *
            std::uint64_t{0x9e3779b97f4a7c15};
  Dice own(mixed >> 7);
  std::vector<float> logits;
  for (int token = 0; token < kVocab; ++token)
    logits.push_back(static_cast<float>(own.Below(1000)) / 300);
  return logits;
}

// Asks a source of chance instead of computing with a seed.
struct AskedChance {
  RandomSource* source;

  template <typename Book>
  ChoiceKey Key(const Book& round, Purpose purpose, int node, int draw,
                int drafter) const {
    return {.prompt = round.Prompt(),
            .round = round.Round(),
            .node = static_cast<std::uint32_t>(node),
            .draw = static_cast<std::uint32_t>(draw),
            .trunk = static_cast<std::uint16_t>(drafter),
            .purpose = purpose};
  }
  template <typename Book>
  bool Accept(const Book& round, double probability, int row, int draw) const {
    return source->Accept(probability,
                          Key(round, Purpose::kCoin, row, draw, 0));
  }
  template <typename Book, typename Workers, typename Value>
  int Draw(const Book& round, const Workers& /*workers*/, const Value& value,
           double /*total*/, Purpose purpose, int node, int draw,
           int drafter) const {
    std::vector<double> weights;
    for (int token = 0; token < kVocab; ++token)
      weights.push_back(value(token));
    return source->Draw({weights}, Key(round, purpose, node, draw, drafter));
  }
};

using Book =
    RoundBook<PlainNumbers<std::int32_t>, PlainNumbers<double>, AskedChance>;

struct RowsOfLogits {
  std::vector<std::vector<float>> rows;
  float Read(int row, int column) const {
    return rows[static_cast<std::size_t>(row)]
               [static_cast<std::size_t>(column)];
  }
};

template <typename T>
PlainNumbers<T> All(std::vector<std::remove_const_t<T>>& numbers) {
  return {numbers.data(), static_cast<std::int64_t>(numbers.size())};
}

DistributionRule RuleOf(const SamplingRule& rule) {
  const SamplingOptions& options = rule.options();
  return {.temperature = options.temperature,
          .top_p = options.top_p,
          .min_p = options.min_p,
          .top_k = options.top_k,
          .used = kVocab};
}

// A sequence of tokens that rounds make longer.
class SteppedText {
 public:
  SteppedText(int seed, const LaidOut& laid_out, Text prompt,
              RandomSource& source)
      : seed_(seed),
        laid_out_(laid_out),
        text_(std::move(prompt)),
        workers_(kVocab),
        integers_(static_cast<std::size_t>(at().integers), -77),
        doubles_(static_cast<std::size_t>(at().doubles), std::nan("")),
        draft_distributions_(Rows(at().distributions)),
        target_distributions_(Rows(at().rows)),
        residual_(Rows(1)),
        order_(static_cast<std::size_t>(at().rows * TruncationRoom(kVocab))),
        round_{at(),
               All<std::int32_t>(integers_),
               All<double>(doubles_),
               {&source}} {
    RoundStart start = {.text = text_,
                        .target = static_cast<int>(text_.size()) - 1};
    start.drafts.assign(static_cast<std::size_t>(at().count), start.target);
    Put(laid_out.Opening(start), book::kTargetLength);
    Put(laid_out.fixed(), book::kPlaceFirst);
  }

  const Text& text() const { return text_; }

  // The path and the token after it.
  void Run() {
    for (int drafter = 0; drafter < at().count; ++drafter) Draft(drafter);
    MergeStep<OneWorker, Book>(workers_, round_).Run();
    const int rows = round_.Get(book::kRows);
    RowsOfLogits logits;
    for (int row = 0; row < rows; ++row)
      logits.rows.push_back(
          LogitsAfter(seed_, kTarget, TextTo(round_.Get(book::kRowNode, row))));
    MakeDistributions(logits, laid_out_.plan().target_rule,
                      {-1, at().distributions, 0}, target_distributions_);
    using Data = JudgeData<PlainNumbers<const double>, PlainNumbers<double>,
                           PlainNumbers<std::int32_t>>;
    const Data data = {All<const double>(draft_distributions_),
                       All<const double>(target_distributions_),
                       All<double>(residual_),
                       {}};
    JudgeStep<OneWorker, Book, Data>(workers_, round_, data).Run();
    End();
  }

 private:
  const RoundLayout& at() const { return laid_out_.layout(); }
  static std::vector<double> Rows(int count) {
    return std::vector<double>(
        static_cast<std::size_t>(std::max(count, 1) * kVocab), std::nan(""));
  }
  void Put(const std::vector<int>& numbers, book::Integers list) {
    std::copy(numbers.begin(), numbers.end(),
              integers_.begin() + at().integer_at[list]);
  }

  Text TextTo(int node) const {
    Text path;
    for (; round_.Get(book::kParent, node) >= 0;
         node = round_.Get(book::kParent, node))
      path.push_back(round_.Get(book::kToken, node));
    Text text = text_;
    text.insert(text.end(), path.rbegin(), path.rend());
    return text;
  }

  void MakeDistributions(const RowsOfLogits& logits, const SamplingRule& rule,
                         const DistributionPlace& place,
                         std::vector<double>& distributions) {
    using Data = DistributionData<RowsOfLogits, PlainNumbers<double>,
                                  PlainNumbers<const std::int32_t>,
                                  PlainNumbers<std::int32_t>>;
    const Data data = {logits,
                       {},
                       {},
                       {},
                       All<double>(distributions),
                       All<std::int32_t>(order_)};
    const DistributionRule own = RuleOf(rule);
    for (std::size_t row = 0; row < logits.rows.size(); ++row) {
      const DistributionStep<OneWorker, Book, Data> step(
          workers_, round_, data, own, place, static_cast<int>(row));
      if (step.exists()) step.Run();
    }
  }

  void Draft(int drafter) {
    const DrafterLayout& of = at().drafters[drafter];
    const SelectStep<OneWorker, Book> select(workers_, round_, drafter);
    for (int level = 0; level < of.levels; ++level) {
      const int first_row = laid_out_.RowsBefore(drafter, level);
      select.Run(level, first_row,
                 laid_out_.RowsBefore(drafter, level + 1) - first_row);
      const int wanted = round_.Get(book::kWantedCount, drafter);
      RowsOfLogits logits;
      for (int i = 0; i < wanted; ++i)
        logits.rows.push_back(
            LogitsAfter(seed_, drafter,
                        TextTo(round_.Get(book::kWanted, of.first_node + i))));
      const int first = laid_out_.DistributionsBefore(drafter, level);
      MakeDistributions(
          logits,
          laid_out_.plan().drafters[static_cast<std::size_t>(drafter)].rule,
          {drafter, first, first}, draft_distributions_);
      const auto distributions = All<const double>(draft_distributions_);
      for (int i = 0; i < wanted; ++i)
        DrawStep(workers_, round_, distributions, drafter, i, first);
    }
    select.Run(of.levels, 0, 0);
  }

  void End() {
    const int before = static_cast<int>(text_.size()) - 1;
    absl::StatusOr<RoundFindings> found =
        laid_out_.Read(absl::MakeConstSpan(integers_).first(
                           static_cast<std::size_t>(laid_out_.read_back())),
                       absl::MakeConstSpan(doubles_).subspan(
                           static_cast<std::size_t>(laid_out_.first_double())));
    Check(found.ok(), found.status().message());
    // The path leads from the root down, and what is kept is the path.
    const int size = static_cast<int>(found->path.size());
    Check(round_.Get(book::kTargetKept) == size + 1 &&
              round_.Get(book::kTargetTo) == before &&
              round_.Get(book::kTargetSlots, 0) == before,
          "kept rows are the root's and the path's");
    int parent = 0;
    for (int i = 0; i < size; ++i) {
      const int row = found->path[static_cast<std::size_t>(i)];
      Check(found->parents[static_cast<std::size_t>(row)] == parent,
            "a path's node is no child of the one before");
      Check(round_.Get(book::kTargetSlots, i + 1) == before + row,
            "a row is kept that is not the path's");
      text_.push_back(found->tokens[static_cast<std::size_t>(row)]);
      parent = row;
    }
    text_.push_back(found->next);
    Check(
        round_.Get(book::kTargetLength) == static_cast<int>(text_.size()) - 1 &&
            round_.Get(book::kRoot) == text_.back(),
        "the next round begins where this one ended");
    for (int drafter = 0; drafter < at().count; ++drafter) {
      const int kept = round_.Get(book::kDraftLength, drafter);
      const int unread = round_.Get(book::kUnread, drafter);
      Check(kept + unread == static_cast<int>(text_.size()) - 1,
            "a drafter has read or will read what was kept");
      for (int i = 0; i < unread; ++i)
        Check(round_.Get(book::kUnreadText,
                         at().drafters[drafter].first_unread + i) ==
                  text_[static_cast<std::size_t>(kept + i)],
              "a drafter will read another text");
    }
  }

  const int seed_;
  const LaidOut& laid_out_;
  Text text_;
  const OneWorker workers_;
  std::vector<std::int32_t> integers_;
  std::vector<double> doubles_, draft_distributions_, target_distributions_,
      residual_;
  std::vector<std::int32_t> order_;
  const Book round_;
};

Distribution TargetAfter(int seed, const SamplingRule& rule, const Text& text) {
  const std::vector<float> logits = LogitsAfter(seed, kTarget, text);
  const std::vector<double> wide(logits.begin(), logits.end());
  auto distribution = rule.Apply(wide, text, {});
  Check(distribution.ok(), distribution.status().message());
  return distribution->Normalized();
}

// The probabilities of all strings of `left` tokens after a text, times
// `probability`, or minus them.
using StringMasses = std::map<Text, double>;
void AddTarget(int seed, const SamplingRule& rule, const Text& text,
               std::size_t length, double probability, StringMasses& out) {
  if (text.size() >= length) {
    out[Text(text.begin(),
             text.begin() + static_cast<std::ptrdiff_t>(length))] +=
        probability;
    return;
  }
  const Distribution distribution = TargetAfter(seed, rule, text);
  for (TokenId token = 0; token < kVocab; ++token) {
    Text longer = text;
    longer.push_back(token);
    AddTarget(seed, rule, longer, length,
              probability * distribution.Mass(token), out);
  }
}

struct StepsCase {
  std::vector<RoundShape> shapes;
  std::vector<DrawKind> draw_kinds;
  JudgeKind judge;
  SamplingOptions sampling;
  int rounds;
};

// The largest difference over strings of three tokens; the branches.
std::pair<double, std::int64_t> ErrorOf(const StepsCase& of, int seed) {
  RoundPlan plan = {.judge = of.judge,
                    .target_rule = SamplingRule(of.sampling),
                    .vocab_size = kVocab,
                    .used_vocab = kVocab};
  for (std::size_t i = 0; i < of.shapes.size(); ++i)
    plan.drafters.push_back({.name = "drafter",
                             .shape = of.shapes[i],
                             .draw_kind = of.draw_kinds[i],
                             .rule = plan.target_rule,
                             .used_vocab = kVocab,
                             .most_levels = 9});
  const LaidOut laid_out(plan);
  const Text prompt = {1, 2};
  constexpr std::size_t kLength = 2 + 3;
  EnumeratingSource source(400'000);
  StringMasses difference;
  do {
    SteppedText rounds(seed, laid_out, prompt, source);
    for (int i = 0; i < of.rounds; ++i) rounds.Run();
    AddTarget(seed, plan.target_rule, rounds.text(), kLength,
              source.probability(), difference);
  } while (source.Advance());
  Check(!source.exhausted(), "too many branches");
  AddTarget(seed, plan.target_rule, prompt, kLength, -1, difference);
  double error = 0;
  for (const auto& [text, mass] : difference)
    error = std::max(error, std::abs(mass));
  return {error, source.runs()};
}

// A drafter's, by how many there are: few choices where many drafters have
// them. Re-ranked ones come last.
std::vector<RoundShape> ShapesOf(int drafter, int count, DrawKind draw_kind) {
  std::vector<RoundShape> shapes;
  if (count == 1)
    shapes = {FixedPlaces{false, {-1, 0, 1}}, FixedPlaces{false, {-1, 0, 0, 1}},
              SequencesShape{2, 2}};
  else if (drafter == 0)
    shapes = {FixedPlaces{false, {-1, 0}}, FixedPlaces{false, {-1, 0, 1}},
              FixedPlaces{false, {-1, 0, 0}}};
  else
    shapes = {FixedPlaces{false, {-1, 0}}, FixedPlaces{false, {-1, 0, 1}},
              SequencesShape{2, 1}};
  if (draw_kind == DrawKind::kDeterministic)
    shapes.push_back(RerankedShape{2, 2, 3});
  return shapes;
}

TEST(PlainSteps, KeepTheTargetsDistribution) {
  Tally tally;
  std::int64_t branches = 0;
  int seed = 0;
  for (int count : {0, 1, 2, 3})
    for (DrawKind first : kDrawKinds)
      for (DrawKind second : kDrawKinds)
        for (JudgeKind judge : {JudgeKind::kMatch, JudgeKind::kPointMass,
                                JudgeKind::kRounds, JudgeKind::kGreedy}) {
          if (count < 2 && first != second) continue;
          const int shapes =
              static_cast<int>(std::min(ShapesOf(0, count, first).size(),
                                        ShapesOf(1, count, second).size()));
          for (int shape = 0; shape < (count == 0 ? 1 : shapes); ++shape) {
            StepsCase of = {.judge = judge, .rounds = count < 3 ? 2 : 1};
            for (int i = 0; i < count; ++i) {
              const DrawKind own = i % 2 == 0 ? first : second;
              of.draw_kinds.push_back(own);
              of.shapes.push_back(
                  i == 2 ? RoundShape(FixedPlaces{false, {-1, 0}})
                         : ShapesOf(i, count,
                                    own)[static_cast<std::size_t>(shape)]);
            }
            // Two rounds of larger trees have too many branches.
            if (count == 2 && shape > 0) of.rounds = 1;
            of.sampling.temperature = judge == JudgeKind::kGreedy ? 0 : 1;
            if (++seed % 3 == 0) of.sampling.top_k = 2;
            SCOPED_TRACE(absl::StrCat(count, " drafters, ", Name(first), ", ",
                                      Name(second), ", judge ",
                                      static_cast<int>(judge), ", shape ",
                                      shape, ", top_k ", of.sampling.top_k));
            const auto [error, runs] = ErrorOf(of, seed);
            EXPECT_LT(error, kRounding);
            branches += runs;
            tally.Count(CaseResult::kProven);
          }
        }
  std::cout << branches << " branches\n";
  ExpectCounts(tally, 250);
}

}  // namespace
}  // namespace banyan
