// Times, measured and predicted.
#include <cstdint>
#include <vector>

#include "experiments/metrics/catalogue.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"

namespace banyan {
namespace {

constexpr double kNsPerMs = 1e6;

// Measured speed against the baseline: tokens over nanoseconds of the rounds,
// on both sides by the same counter (PromptRecord.tokens) and the same clock.
void CountSpeed(const PromptPair& pair, Counts& counts) {
  if (pair.baseline == nullptr) return;
  Part& part = counts.parts[""];
  part.over += pair.record->tokens_size();
  part.under += RoundsNs(*pair.record);
  part.base_over += pair.baseline->tokens_size();
  part.base_under += RoundsNs(*pair.baseline);
}

// Counts the speedup that the measured acceptance and costs predict. With m
// tokens per pass, d the mean time to draft, t that of a target pass and t1
// that of a pass of the baseline,
//
//   predicted = m t1 / (d + t) = (tokens / (draft + target time))
//                                / (baseline's passes / its target time).
//
// The measured speedup also contains what both sides spend between the passes:
// flattening, verifying, committing. Prompts with rounds that a device ran
// alone, on either side, are left out: they have no times by phase.
void CountPredictedSpeed(const PromptPair& pair, Counts& counts) {
  if (pair.baseline == nullptr) return;
  if (HasDeviceRounds(*pair.record) || HasDeviceRounds(*pair.baseline)) return;
  Part& part = counts.parts[""];
  part.over += pair.record->tokens_size();
  for (const records::Round& round : pair.record->rounds())
    part.under += DraftNs(round) + TargetNs(round);
  part.base_over += pair.baseline->rounds_size();
  part.base_under += TargetNs(*pair.baseline);
}

// The speed at costs that somebody stated for another machine: the tokens that
// were recorded over the time that report/stated_costs.h gives their rounds,
// and the baseline's by the same costs. The key is the name of the costs.
void CountPredictedByCurve(const PromptPair& pair, Counts& counts) {
  if (pair.baseline == nullptr || !pair.stated.has_value()) return;
  Part& part = counts.parts[pair.stated->costs];
  part.over += pair.record->tokens_size();
  part.under += pair.stated->ms;
  part.base_over += pair.baseline->tokens_size();
  part.base_under += pair.stated->baseline_ms;
}

// The speed of an oracle's chain at stated costs: what the rounds would have
// been worth had each drafted just the tokens it accepted, and so paid for no
// refused draft (Leviathan et al. 2022, section 3.5: gamma chosen anew each
// step by somebody who knows). It emits the same tokens in as many rounds; the
// target still judges them. With gamma the longest that was tried, rounds that
// accepted all of it would have gone on, so try long chains.
//
// Over predicted_by_curve of the best fixed chain it says what the best
// possible rule for stopping could still gain. Of cells with one trunk, decoded
// alone: who drafts for nothing in a merged tree, or how wide the pass of
// others would have been, the records do not say. The key is the name of the
// costs.
void CountOracleByCurve(const PromptPair& pair, Counts& counts) {
  if (pair.baseline == nullptr || !pair.stated.has_value() ||
      !pair.stated->oracle_ms.has_value())
    return;
  Part& part = counts.parts[pair.stated->costs];
  part.over += pair.record->tokens_size();
  part.under += *pair.stated->oracle_ms;
  part.base_over += pair.baseline->tokens_size();
  part.base_under += pair.stated->baseline_ms;
}

// Milliseconds a token, all phases of the rounds counted.
void CountMsPerToken(const PromptPair& pair, Counts& counts) {
  Part& part = counts.parts[""];
  part.over += RoundsNs(*pair.record) / kNsPerMs;
  part.under += pair.record->tokens_size();
}

// Milliseconds a token as the one who asked sees it: from a prompt's admission
// to its end, over its tokens. Alone that is all of its time; in a batch the
// passes of the others are in it.
void CountLatency(const PromptPair& pair, Counts& counts) {
  Part& part = counts.parts[""];
  part.over += LatencyNs(*pair.record) / kNsPerMs;
  part.under += pair.record->tokens_size();
}

// Tokens a second of the cell's wall time, prefills included: what a cell that
// decodes several prompts at a time gives all of them together.
void CountThroughput(const PromptPair& pair, Counts& counts) {
  constexpr double kNsPerSecond = 1e9;
  Part& part = counts.parts[""];
  part.over += pair.record->tokens_size();
  part.under += WallNs(*pair.record) / kNsPerSecond;
}

// Tokens over wall time, prefills included, against the baseline, whose cell
// decodes as many prompts at a time.
void CountWallSpeed(const PromptPair& pair, Counts& counts) {
  if (pair.baseline == nullptr) return;
  Part& part = counts.parts[""];
  part.over += pair.record->tokens_size();
  part.under += WallNs(*pair.record);
  part.base_over += pair.baseline->tokens_size();
  part.base_under += WallNs(*pair.baseline);
}

// The papers' c: what drafting costs in target passes of the baseline. "" is by
// level of the tree, which for a chain is by token; "pass" is by target pass.
// Prompts with rounds that a device ran alone, on either side, are left out.
void CountDrafterCost(const PromptPair& pair, Counts& counts) {
  if (pair.baseline == nullptr || pair.cell->trunks_size() == 0) return;
  if (HasDeviceRounds(*pair.record) || HasDeviceRounds(*pair.baseline)) return;
  double draft_ns = 0;
  double levels = 0;
  for (const records::Round& round : pair.record->rounds()) {
    draft_ns += DraftNs(round);
    levels += Levels(round);
  }
  const double base_ns = TargetNs(*pair.baseline);
  const double base_passes = pair.baseline->rounds_size();
  for (const char* key : {"", "pass"}) {
    Part& part = counts.parts[key];
    part.over += draft_ns;
    part.under += *key == 0 ? levels : pair.record->rounds_size();
    part.base_over += base_ns;
    part.base_under += base_passes;
  }
}

// Where the time of the rounds goes.
void CountTimeShares(const PromptPair& pair, Counts& counts) {
  const auto add = [&counts](const char* phase, double ns) {
    counts.parts[phase].over += ns;
    counts.every.under += ns;
  };
  for (const records::Round& round : pair.record->rounds()) {
    const auto share = [&round](std::int64_t ns) {
      return static_cast<double>(ns) / Sequences(round);
    };
    add("draft", DraftNs(round));
    add("derive", share(round.derive_ns()));
    add("target", share(round.target_ns()));
    add("verify", share(round.verify_ns()));
    add("commit", share(round.commit_ns()));
    if (round.device_ns() > 0) add("device", share(round.device_ns()));
  }
}

}  // namespace

std::vector<MetricRow> SpeedMetrics() {
  return {
      {"speed",
       "Tokens a second over the baseline's, on the same prompts, prefill "
       "aside.",
       "", Form::kRelative, CountSpeed},
      {"predicted_speed",
       "The speed if a round were its drafting and its target pass alone, and "
       "a plain token one pass of the baseline.",
       "", Form::kRelative, CountPredictedSpeed},
      {kPredictedByCurve,
       "The speed predicted at the costs of --curve: a round is a target pass "
       "of its tree's size and each trunk's drafted levels, nothing around "
       "them.",
       "", Form::kRelative, CountPredictedByCurve, /*by_curve=*/true},
      {"oracle_by_curve",
       "The speed predicted at the costs of --curve had each round drafted "
       "just the tokens it accepted. Of one trunk.",
       "", Form::kRelative, CountOracleByCurve, /*by_curve=*/true},
      {"ms_per_token", "Time of all rounds over all tokens, prefill aside.",
       "ms", Form::kRatio, CountMsPerToken},
      {"latency",
       "Time from a prompt's admission to its end over its tokens, prefill "
       "included.",
       "ms", Form::kRatio, CountLatency},
      {"throughput",
       "Tokens a second of the cell's wall time, prefills included.", "tokens",
       Form::kRatio, CountThroughput},
      {"wall_speed",
       "Tokens over wall time against the baseline's, prefills included.", "",
       Form::kRelative, CountWallSpeed},
      {"drafter_cost",
       "Time to draft one level, or all that a pass scores, in target passes "
       "of the baseline: the papers' c.",
       "passes", Form::kRelative, CountDrafterCost},
      {"time_shares", "Each phase's share of the rounds' time.", "",
       Form::kRatio, CountTimeShares},
  };
}

}  // namespace banyan
