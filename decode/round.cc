#include "decode/round.h"

#include <cstddef>
#include <memory>
#include <utility>

#include "core/model/context.h"
#include "core/model/model.h"
#include "decode/target_rows.h"
#include "drafters/drafter.h"
#include "drafters/drafting.h"
#include "tree/draft_tree.h"
#include "tree/merge.h"
#include "tree/pass_rows.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"
#include "verifiers/verifier.h"

namespace banyan {

DraftLimits LimitsOf(const Sequence& sequence) {
  return {.max_depth = sequence.target.context_limit() -
                       static_cast<int>(sequence.context.tokens.size()),
          .end_of_text = sequence.stop.end_of_text};
}

TrunkView ViewOf(const Method& method, const Sequence& sequence,
                 std::size_t trunk) {
  const SequenceTrunk& own = sequence.trunks[trunk];
  return {*own.drafter, *own.session, *own.policy,
          method.trunks[trunk].draw_kind, static_cast<int>(trunk)};
}

absl::Status Naming(const Trunk& trunk, absl::Status status) {
  if (!absl::IsInvalidArgument(status)) return status;
  return absl::InvalidArgumentError(
      absl::StrCat("drafter ", trunk.drafter_name, ": ", status.message()));
}

namespace {

// One sequence's part of a round.
struct Part {
  Sequence& sequence;
  Chance chance;
  DraftTree tree;
  PassRows rows = {};
  Verdict verdict = {};
  TargetFacts facts = {};
};

// Draft: grow every tree, for all sequences at once, then merge each one's
// trunks.
absl::StatusOr<std::vector<Part>> Draft(const Method& method,
                                        absl::Span<Sequence* const> sequences,
                                        RandomSource& random,
                                        PhaseTimer& timer) {
  std::vector<Drafting> draftings;
  for (const Sequence* sequence : sequences) {
    std::vector<TrunkView> trunks;
    for (std::size_t t = 0; t < method.trunks.size(); ++t)
      trunks.push_back(ViewOf(method, *sequence, t));
    draftings.emplace_back(
        std::move(trunks), sequence->context, LimitsOf(*sequence),
        Chance(random, sequence->context.prompt, sequence->context.round));
  }
  // Once a draft has been read the work that made it is done.
  BANYAN_RETURN_IF_ERROR(DraftAll(
      absl::MakeSpan(draftings), [&](std::size_t trunk, absl::Status status) {
        timer.EndDraft(trunk);
        return Naming(method.trunks[trunk], std::move(status));
      }));
  std::vector<Part> parts;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    Sequence& sequence = *sequences[i];
    const Context& context = sequence.context;
    std::vector<TrunkTree> grown = std::move(draftings[i]).Take();
    for (std::size_t t = 0; t < grown.size(); ++t)
      if (TargetPassPart* part =
              sequence.trunks[t].session->facets().in_target_pass)
        part->Plant(context, LimitsOf(sequence).max_depth, grown[t]);
    if (grown.empty())  // plain decoding: a bare root
      grown.emplace_back(context.root(), 0, DrawKind::kDeterministic);
    parts.push_back({sequence, Chance(random, context.prompt, context.round),
                     Merge(grown)});
  }
  return parts;
}

// What of the tree some view of the target has computed, by row of the pass.
DoneRows ComputedOf(const Part& part) {
  for (const SequenceTrunk& trunk : part.sequence.trunks) {
    const TargetPassPart* own = trunk.session->facets().in_target_pass;
    if (own == nullptr) continue;
    DoneRows done = own->Computed(part.tree);
    if (done.view == nullptr) continue;
    if (part.rows.merged()) return done;
    std::vector<int> rows;
    for (int node : part.rows.node)
      rows.push_back(done.rows[static_cast<std::size_t>(node)]);
    return {done.view, std::move(rows)};
  }
  return {};
}

// Derive and score: all trees in one pass of the target. The scores are by
// node.
absl::StatusOr<std::vector<std::unique_ptr<Scores>>> Score(
    const Method& method, std::vector<Part>& parts, PhaseTimer& timer) {
  std::vector<ScoreRequest> requests;
  for (Part& part : parts) {
    BANYAN_RETURN_IF_ERROR(CheckLawful(method.verifier_name,
                                       method.verifier->traits(), part.tree));
    const int length = part.sequence.session->length();
    part.rows = method.scoring == Scoring::kMerged
                    ? MergedRows(part.tree, length)
                    : UnmergedRows(part.tree, length);
    requests.push_back({.session = part.sequence.session.get(),
                        .batch = &part.rows.batch,
                        .taps = part.sequence.taps,
                        .vectors = part.rows.vectors.values,
                        .vector_rows = part.rows.vectors.rows,
                        .done = ComputedOf(part)});
  }
  timer.End(Phase::kDerive);
  BANYAN_ASSIGN_OR_RETURN(auto scores,
                          parts.front().sequence.target.Score(requests));
  // A phase's time is of finished work.
  BANYAN_RETURN_IF_ERROR(parts.front().sequence.target.Finish());
  timer.End(Phase::kTarget);
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (!parts[i].rows.merged())
      scores[i] =
          std::make_unique<NodeScores>(std::move(scores[i]), parts[i].rows.row);
  return scores;
}

// Verify: the verdict, and what the target said, which is no part of the
// round's time.
absl::Status Verify(const Method& method, const Scores& scores, Part& part,
                    PhaseTimer& timer) {
  TargetRows rows(scores, method.rule, part.sequence.context, part.tree);
  part.verdict = method.verifier->Verify(part.tree, rows, part.chance);
  BANYAN_RETURN_IF_ERROR(rows.status());
  timer.End(Phase::kVerify);
  if (part.sequence.keep_facts) {
    BANYAN_ASSIGN_OR_RETURN(part.facts,
                            GatherFacts(scores, part.tree, part.verdict, rows));
  }
  timer.End(Phase::kOutside);
  return rows.status();
}

// Commit, the only step that changes committed state, and record.
absl::StatusOr<RoundRecord> Commit(const Scores& scores, Part part) {
  Sequence& sequence = part.sequence;
  const Sequence::Kept kept = sequence.Cut(TokensOf(part.tree, part.verdict));
  const std::vector<int> nodes = RowsOf(part.verdict, kept);
  if (!sequence.taps.empty())
    BANYAN_RETURN_IF_ERROR(sequence.KeepFeatures(scores, nodes));
  BANYAN_RETURN_IF_ERROR(sequence.session->Commit(part.rows.ChainOf(nodes)));
  return Conclude(sequence, kept, std::move(part.tree), std::move(part.verdict),
                  std::move(part.facts), scores);
}

// Commits every part, whichever other one fails, and ends the round.
RoundRecords CommitAll(absl::Span<const std::unique_ptr<Scores>> scores,
                       std::vector<Part> parts, PhaseTimer& timer) {
  const Model& target = parts.front().sequence.target;
  RoundRecords records;
  std::vector<Sequence*> sequences;
  int pass_tokens = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    pass_tokens += parts[i].rows.batch.size();
    sequences.push_back(&parts[i].sequence);
    records.push_back(Commit(*scores[i], std::move(parts[i])));
  }
  // With the target's work goes what drafters left under way (Drafter).
  const absl::Status finished = target.Finish();
  timer.End(Phase::kCommit);
  for (std::size_t i = 0; i < records.size(); ++i) {
    absl::StatusOr<RoundRecord>& record = records[i];
    if (record.ok() && !finished.ok()) record = finished;
    if (!record.ok()) {
      sequences[i]->failed = record.status();
      continue;
    }
    record->times = timer.times();
    record->sequences = static_cast<int>(records.size());
    record->pass_tokens = pass_tokens;
  }
  return records;
}

}  // namespace

absl::StatusOr<RoundRecords> RunRound(const Method& method,
                                      absl::Span<Sequence* const> sequences,
                                      RandomSource& random, PhaseTimer& timer) {
  for (Sequence* sequence : sequences)  // what an abandoned round left
    BANYAN_RETURN_IF_ERROR(sequence->session->Commit({}));
  BANYAN_ASSIGN_OR_RETURN(std::vector<Part> parts,
                          Draft(method, sequences, random, timer));
  BANYAN_ASSIGN_OR_RETURN(const auto scores, Score(method, parts, timer));
  for (std::size_t i = 0; i < parts.size(); ++i)
    BANYAN_RETURN_IF_ERROR(Verify(method, *scores[i], parts[i], timer));
  return CommitAll(scores, std::move(parts), timer);
}

}  // namespace banyan
