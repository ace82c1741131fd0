#include "decode/sequence.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace banyan {

namespace {

// Reads the features of these rows at all taps.
absl::Status AddFeatures(const Scores& scores, absl::Span<const int> rows,
                         Features& features) {
  const auto size = static_cast<std::size_t>(features.hidden_size);
  for (int row : rows) {
    for (std::size_t tap = 0; tap < features.taps.size(); ++tap) {
      const std::size_t at = features.values.size();
      features.values.resize(at + size);
      BANYAN_RETURN_IF_ERROR(
          scores.ReadHidden(static_cast<int>(tap), row,
                            absl::MakeSpan(features.values).subspan(at, size)));
    }
    ++features.rows;
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view Name(StopReason reason) {
  switch (reason) {
    case StopReason::kNone:
      return "none";
    case StopReason::kEndOfText:
      return "end_of_text";
    case StopReason::kLength:
      return "length";
    case StopReason::kContext:
      return "context";
  }
  return "";
}

absl::StatusOr<Sequence> Sequence::Start(const Model& target,
                                         const Prompt& prompt,
                                         const StopRule& stop,
                                         std::vector<int> taps) {
  if (prompt.tokens.empty())
    return absl::InvalidArgumentError("the prompt is empty");
  const int length = static_cast<int>(prompt.tokens.size());
  if (length > target.context_limit())
    return absl::OutOfRangeError(absl::StrCat("the prompt has ", length,
                                              " tokens, the context holds ",
                                              target.context_limit()));
  Sequence sequence = {.target = target,
                       .session = target.NewSession(),
                       .context = {.tokens = prompt.tokens,
                                   .prompt_length = length,
                                   .prompt = prompt.id},
                       .stop = stop,
                       .taps = std::move(taps)};
  if (stop.max_new_tokens <= 0) sequence.stopped = StopReason::kLength;
  const auto read =
      absl::MakeConstSpan(prompt.tokens).first(prompt.tokens.size() - 1);
  Features& features = sequence.context.features;
  features.taps = sequence.taps;
  features.hidden_size = target.hidden_size();
  BANYAN_RETURN_IF_ERROR(sequence.session->Prefill(
      read, sequence.taps, [&features](const Scores& piece, int count) {
        std::vector<int> rows(static_cast<std::size_t>(count));
        std::iota(rows.begin(), rows.end(), 0);
        return AddFeatures(piece, rows, features);
      }));
  return sequence;
}

absl::Status Sequence::KeepFeatures(const Scores& scores,
                                    absl::Span<const int> rows) {
  Features& features = context.features;
  features.rows = 0;
  features.values.clear();
  return AddFeatures(scores, rows, features);
}

Sequence::Kept Sequence::Cut(std::vector<TokenId> emitted) const {
  Kept kept = {.tokens = std::move(emitted)};
  std::vector<TokenId>& tokens = kept.tokens;
  const auto room =
      static_cast<std::size_t>(stop.max_new_tokens - context.emitted());
  if (tokens.size() >= room) {
    tokens.resize(room);
    kept.stopped = StopReason::kLength;
  }
  const auto end =
      std::find_first_of(tokens.begin(), tokens.end(), stop.end_of_text.begin(),
                         stop.end_of_text.end());
  if (end != tokens.end()) {
    tokens.erase(end + 1, tokens.end());
    kept.stopped = StopReason::kEndOfText;
  }
  // The last token must still be fed to go on.
  const auto length = context.tokens.size() + tokens.size();
  if (kept.stopped == StopReason::kNone &&
      length > static_cast<std::size_t>(target.context_limit()))
    kept.stopped = StopReason::kContext;
  return kept;
}

void Sequence::Append(const Kept& kept) {
  context.tokens.insert(context.tokens.end(), kept.tokens.begin(),
                        kept.tokens.end());
  ++context.round;
  stopped = kept.stopped;
}

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
                                     const Scores& scores) {
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
    if (trunk.on_device) continue;
    sequence.context.scored =
        trunk.drafter->traits().reads_scores ? &scores : nullptr;
    const absl::Status observed =
        trunk.session->Observe(sequence.context, outcome);
    sequence.context.scored = nullptr;
    BANYAN_RETURN_IF_ERROR(observed);
  }
  return record;
}

}  // namespace banyan
