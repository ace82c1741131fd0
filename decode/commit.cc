#include "decode/commit.h"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "decode/sequence.h"
#include "decode/target_facts.h"
#include "drafters/drafter.h"
#include "tree/draft_tree.h"
#include "tree/tree_policy.h"
#include "tree/verdict.h"

namespace banyan {

std::int64_t PhaseTimes::TotalNs() const {
  return std::accumulate(draft_ns.begin(), draft_ns.end(), std::int64_t{0}) +
         derive_ns + target_ns + verify_ns + commit_ns + device_ns;
}

std::vector<TokenId> TokensOf(const DraftTree& tree, const Verdict& verdict) {
  std::vector<TokenId> tokens;
  for (int node : verdict.path) tokens.push_back(tree.node(node).token);
  tokens.push_back(verdict.next);
  return tokens;
}

std::vector<int> RowsOf(const Verdict& verdict, const Sequence::Kept& kept) {
  std::vector<int> rows = {0};
  rows.insert(rows.end(), verdict.path.begin(),
              verdict.path.begin() +
                  (static_cast<std::ptrdiff_t>(kept.tokens.size()) - 1));
  return rows;
}

absl::StatusOr<RoundRecord> Conclude(Sequence& sequence,
                                     const Sequence::Kept& kept, DraftTree tree,
                                     Verdict verdict, TargetFacts facts,
                                     const Scores* scores) {
  sequence.Append(kept);
  RoundRecord record = {.tree = std::move(tree),
                        .verdict = std::move(verdict),
                        .emitted = kept.tokens,
                        .stopped = kept.stopped,
                        .facts = std::move(facts)};
  for (std::size_t i = 0; i < sequence.trunks.size(); ++i) {
    const SequenceTrunk& trunk = sequence.trunks[i];
    const RoundOutcome outcome = {record.tree, record.verdict,
                                  static_cast<int>(i)};
    trunk.policy->Observe(outcome);
    if (scores == nullptr) continue;
    sequence.context.scored =
        trunk.drafter->traits().reads_scores ? scores : nullptr;
    const absl::Status observed =
        trunk.session->Observe(sequence.context, outcome);
    sequence.context.scored = nullptr;
    BANYAN_RETURN_IF_ERROR(observed);
  }
  return record;
}

}  // namespace banyan
