#include "experiments/metrics/catalogue.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/nearest.h"
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"

namespace banyan {

absl::Span<const MetricRow> MetricCatalogue() {
  static const auto& rows = *new std::vector<MetricRow>{
      {"tokens_per_pass",
       "Tokens a target pass gave, the correction or bonus counted.", "tokens",
       Form::kRatio, CountTokensPerPass},
      {"accepted_per_pass",
       "Drafted tokens a target pass kept, without correction or bonus.",
       "tokens", Form::kRatio, CountAcceptedPerPass},
      {"alpha",
       "Mean of sum(min(p, q)) over the draw lists that verification reached. "
       "Of lossless verifiers.",
       "", Form::kRatio, CountAlpha},
      {"endless_chain",
       "Tokens per pass of an endless chain of such drafts: 1 / (1 - alpha). "
       "Of "
       "one trunk and a lossless verifier.",
       "tokens", Form::kRatio, CountEndlessChain},
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
      {"acceptance_by_depth",
       "Share of all rounds that accepted at least so many tokens.", "",
       Form::kRatio, CountAcceptanceByDepth},
      {"conditional_acceptance_by_depth",
       "Share of the rounds that accepted one token fewer and had drafted "
       "another after it.",
       "", Form::kRatio, CountConditionalAcceptance},
      {"acceptance_by_rank",
       "Share of the draw lists reached whose draw of this number was the "
       "first of the accepted token.",
       "", Form::kRatio, CountAcceptanceByRank},
      {"acceptance_by_trunk",
       "Share of the accepted tokens that this trunk proposed before any "
       "other.",
       "", Form::kRatio, CountAcceptanceByTrunk},
      {"gain_by_trunk",
       "Accepted tokens a pass that no other trunk had proposed.", "tokens",
       Form::kRatio, CountGainByTrunk},
      {"accepted_lengths", "Share of the rounds that accepted exactly so many.",
       "", Form::kRatio, CountAcceptedLengths},
      {"drafted_nodes", "Nodes a round drafted, the root not counted.", "nodes",
       Form::kRatio, CountDraftedNodes},
      {"rows_per_pass",
       "Rows that the target scored for a round: root, drafted nodes, probes, "
       "and copies of them where paths are not merged.",
       "rows", Form::kRatio, CountRowsPerPass},
      {"nodes_saved",
       "Nodes a round did not score because draws of one token share one.",
       "nodes", Form::kRatio, CountNodesSaved},
      {"divergence",
       "At temperature 0: share of the prompts whose tokens differ from the "
       "baseline's, where first, and the baseline's logit gap there.",
       "", Form::kRatio, CountDivergence},
      {"log_probability",
       "Mean log-probability of the output under the target.", "nats",
       Form::kRatio, CountLogProbability},
      {"peak_memory",
       "Peak memory of the process, all cells' models in it, while one of "
       "this cell's prompts was decoded.",
       "MiB", Form::kLargest, CountPeakMemory},
      {"stores",
       "What a trunk that learns from prompt to prompt held at the most, and "
       "dropped to stay within its limit.",
       "", Form::kLargest, CountStores},
      {"tokens", "Tokens counted.", "tokens", Form::kTotal, CountTokens},
      {"rounds", "Rounds, each a target pass.", "rounds", Form::kTotal,
       CountRounds},
  };
  return rows;
}

absl::StatusOr<const MetricRow*> FindMetric(absl::string_view name) {
  std::vector<absl::string_view> known;
  for (const MetricRow& row : MetricCatalogue()) {
    if (row.name == name) return &row;
    known.push_back(row.name);
  }
  return absl::InvalidArgumentError(UnknownName("metric", name, known));
}

}  // namespace banyan
