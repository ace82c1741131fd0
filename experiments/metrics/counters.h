// What each metric counts, one small file each; catalogue.cc says what they
// mean. Adding a metric is a file, a line here and a row there.
#ifndef BANYAN_EXPERIMENTS_METRICS_COUNTERS_H_
#define BANYAN_EXPERIMENTS_METRICS_COUNTERS_H_

#include "experiments/metrics/metric.h"
#include "experiments/records/prompt_pair.h"

namespace banyan {

void CountTokensPerPass(const PromptPair& pair, Counts& counts);
void CountAcceptedPerPass(const PromptPair& pair, Counts& counts);
void CountAlpha(const PromptPair& pair, Counts& counts);
void CountEndlessChain(const PromptPair& pair, Counts& counts);
void CountSpeed(const PromptPair& pair, Counts& counts);
void CountPredictedSpeed(const PromptPair& pair, Counts& counts);
void CountPredictedByCurve(const PromptPair& pair, Counts& counts);
void CountOracleByCurve(const PromptPair& pair, Counts& counts);
void CountMsPerToken(const PromptPair& pair, Counts& counts);
void CountLatency(const PromptPair& pair, Counts& counts);
void CountThroughput(const PromptPair& pair, Counts& counts);
void CountWallSpeed(const PromptPair& pair, Counts& counts);
void CountDrafterCost(const PromptPair& pair, Counts& counts);
void CountTimeShares(const PromptPair& pair, Counts& counts);
void CountAcceptanceByDepth(const PromptPair& pair, Counts& counts);
void CountConditionalAcceptance(const PromptPair& pair, Counts& counts);
void CountAcceptanceByRank(const PromptPair& pair, Counts& counts);
void CountAcceptanceByTrunk(const PromptPair& pair, Counts& counts);
void CountGainByTrunk(const PromptPair& pair, Counts& counts);
void CountAcceptedLengths(const PromptPair& pair, Counts& counts);
void CountDraftedNodes(const PromptPair& pair, Counts& counts);
void CountRowsPerPass(const PromptPair& pair, Counts& counts);
void CountNodesSaved(const PromptPair& pair, Counts& counts);
void CountDivergence(const PromptPair& pair, Counts& counts);
void CountLogProbability(const PromptPair& pair, Counts& counts);
void CountPeakMemory(const PromptPair& pair, Counts& counts);
void CountStores(const PromptPair& pair, Counts& counts);
void CountTokens(const PromptPair& pair, Counts& counts);
void CountRounds(const PromptPair& pair, Counts& counts);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_METRICS_COUNTERS_H_
