#include "decode/round.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/base/context.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/random/random_source.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "decode/target_facts.h"
#include "decode/target_rows.h"
#include "drafters/grow.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/growing_tree.h"
#include "tree/merge.h"
#include "tree/verdict.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

// Nanoseconds since the last call, or since it was made.
class Lap {
 public:
  explicit Lap(const Clock& clock) : clock_(clock), last_(clock.NowNs()) {}
  std::int64_t operator()() {
    const std::int64_t now = clock_.NowNs();
    return now - std::exchange(last_, now);
  }

 private:
  const Clock& clock_;
  std::int64_t last_;
};

// Draft: grow every trunk, merge them in their order.
absl::StatusOr<DraftTree> DraftRound(Method& method, const Sequence& sequence,
                                     const Chance& chance, Lap& lap,
                                     PhaseTimes& times) {
  const Context& context = sequence.context;
  const GrowLimits limits = {
      .max_depth = sequence.target.context_limit() -
                   static_cast<int>(context.tokens.size()),
      .end_of_text = sequence.stop.end_of_text};
  std::vector<GrowingTree> grown;
  for (Trunk& trunk : method.trunks) {
    const int number = static_cast<int>(grown.size());
    const TrunkView view = {*trunk.drafter, *trunk.policy, trunk.law, number};
    BANYAN_ASSIGN_OR_RETURN(GrowingTree tree,
                            Grow(view, context, limits, chance));
    grown.push_back(std::move(tree));
    times.draft_ns.push_back(lap());
  }
  if (grown.empty())  // plain decoding: a bare root
    grown.emplace_back(context.root(), 0, DraftLaw::kDeterministic);
  return Merge(grown);
}

// Commit, the only step that changes committed state, and record.
absl::StatusOr<RoundRecord> CommitRound(Method& method, Sequence& sequence,
                                        const Scores& scores, DraftTree tree,
                                        Verdict verdict) {
  std::vector<TokenId> tokens;
  for (int node : verdict.path) tokens.push_back(tree.node(node).token);
  tokens.push_back(verdict.next);
  Sequence::Kept kept = sequence.Cut(std::move(tokens));

  // The root and what was kept below it; the last kept token, whatever it is,
  // becomes the next root.
  std::vector<int> rows = {0};
  rows.insert(rows.end(), verdict.path.begin(),
              verdict.path.begin() +
                  static_cast<std::ptrdiff_t>(kept.tokens.size()) - 1);
  if (!sequence.taps.empty())
    BANYAN_RETURN_IF_ERROR(sequence.KeepFeatures(scores, rows));
  BANYAN_RETURN_IF_ERROR(sequence.session->Commit(rows));
  sequence.Append(kept);
  RoundRecord record = {.tree = std::move(tree),
                        .verdict = std::move(verdict),
                        .emitted = std::move(kept.tokens),
                        .stopped = kept.stopped};
  for (std::size_t i = 0; i < method.trunks.size(); ++i) {
    const Trunk& trunk = method.trunks[i];
    const RoundOutcome outcome = {record.tree, record.verdict,
                                  static_cast<int>(i)};
    trunk.policy->Observe(outcome);
    BANYAN_RETURN_IF_ERROR(trunk.drafter->Observe(sequence.context, outcome));
  }
  return record;
}

}  // namespace

absl::StatusOr<RoundRecord> RunRound(Method& method, Sequence& sequence,
                                     RandomSource& random, const Clock& clock) {
  const Chance chance(random, sequence.context);
  Session& session = *sequence.session;
  BANYAN_RETURN_IF_ERROR(session.Commit({}));  // what an abandoned round left
  Lap lap(clock);
  PhaseTimes times;

  BANYAN_ASSIGN_OR_RETURN(DraftTree tree,
                          DraftRound(method, sequence, chance, lap, times));
  BANYAN_RETURN_IF_ERROR(
      CheckLawful(method.verifier_name, method.verifier->traits(), tree));
  const TokenBatch batch = ToBatch(tree, session.length());
  times.derive_ns = lap();
  const ScoreRequest request = {&session, &batch, sequence.taps};
  BANYAN_ASSIGN_OR_RETURN(const auto all, sequence.target.Score({&request, 1}));
  const Scores& scores = *all.front();
  times.target_ns = lap();
  TargetRows rows(scores, method.rule, sequence.context, tree);
  Verdict verdict = method.verifier->Verify(tree, rows, chance);
  BANYAN_RETURN_IF_ERROR(rows.status());
  times.verify_ns = lap();
  TargetFacts facts;
  if (sequence.keep_facts) {
    BANYAN_ASSIGN_OR_RETURN(facts, GatherFacts(scores, tree, verdict, rows));
  }
  BANYAN_RETURN_IF_ERROR(rows.status());
  lap();  // gathering facts is no part of the round
  BANYAN_ASSIGN_OR_RETURN(RoundRecord record,
                          CommitRound(method, sequence, scores, std::move(tree),
                                      std::move(verdict)));
  times.commit_ns = lap();
  record.times = std::move(times);
  record.facts = std::move(facts);
  return record;
}

}  // namespace banyan
