// A sequence under way, and what a round commits to it.
#ifndef BANYAN_DECODE_SEQUENCE_H_
#define BANYAN_DECODE_SEQUENCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "decode/host_cause.h"
#include "decode/target_rows.h"
#include "drafters/drafter.h"
#include "tree/draft_tree.h"
#include "tree/tree_policy.h"
#include "tree/verdict.h"

namespace banyan {

// A sequence under way: its prompt, its cache, when it stops.
class DeviceSide;

// What to decode after. `id` keys its randomness.
struct Prompt {
  std::uint32_t id = 0;
  std::vector<TokenId> tokens;
};

// When to stop. The end-of-text token itself is emitted and counts; nothing
// after it does, and nothing past the length limit.
struct StopRule {
  std::vector<TokenId> end_of_text;
  int max_new_tokens = 0;
};

enum class StopReason { kNone, kEndOfText, kLength, kContext };
absl::string_view Name(StopReason reason);

// What a sequence drafts with: a session of a trunk's drafter, a clone of its
// policy.
struct SequenceTrunk {
  Drafter* drafter;  // the method's
  std::unique_ptr<DraftSession> session;
  std::unique_ptr<TreePolicy> policy;
  // Its counterpart drafts there, while the device runs rounds.
  bool on_device = false;
};

// What a prompt that ended leaves to what drafters carry from prompt to prompt.
struct Lesson {
  std::vector<TokenId> text;        // the prompt and what was emitted
  std::vector<std::string> learnt;  // by trunk: what DraftSession::End returned
};

// The session holds every token of the context but the last, which is the root
// of the next tree.
struct Sequence {
  const Model& target;
  std::unique_ptr<Session> session;
  Context context;
  StopRule stop;
  StopReason stopped = StopReason::kNone;
  std::vector<int> taps = {};              // of the features its context holds
  bool keep_facts = false;                 // RoundRecord::facts are gathered
  std::vector<SequenceTrunk> trunks = {};  // in the order of the method's

  // Set if a step fails at or after the commit: no round can follow.
  absl::Status failed = absl::OkStatus();
  // Its rounds on the target's device (device_rounds.h); null: not looked for.
  std::shared_ptr<DeviceSide> device_side = nullptr;

  // Prefills a prompt. Fails if it is empty or longer than the context.
  static absl::StatusOr<Sequence> Start(const Model& target,
                                        const Prompt& prompt,
                                        const StopRule& stop,
                                        std::vector<int> taps = {});

  // What would be kept of these tokens: cut at the length limit and after the
  // first end of text. `stopped` says why nothing may follow.
  struct Kept {
    std::vector<TokenId> tokens;
    StopReason stopped = StopReason::kNone;
  };
  Kept Cut(std::vector<TokenId> emitted) const;
  // Ends a round: the context grows by what was kept.
  void Append(const Kept& kept);
  // The features of these rows of a batch, in their order, become the
  // context's. The batch was scored with the sequence's taps.
  absl::Status KeepFeatures(const Scores& scores, absl::Span<const int> rows);
};

// The facts of a round, and what ends it wherever it ran.

// What each phase took, by the round's clock: of all sequences together.
struct PhaseTimes {
  std::vector<std::int64_t> draft_ns;  // by trunk
  std::int64_t derive_ns = 0;          // merging and flattening
  std::int64_t target_ns = 0;
  std::int64_t verify_ns = 0;
  std::int64_t commit_ns = 0;
  // Of a round that the target's device ran alone: all of it, but for what is
  // kept of it here, which is commit_ns.
  std::int64_t device_ns = 0;

  std::int64_t TotalNs() const;
};

// The facts of one round.
struct RoundRecord {
  DraftTree tree;
  Verdict verdict;               // as verified, before any cut
  std::vector<TokenId> emitted;  // after the cut
  StopReason stopped = StopReason::kNone;
  PhaseTimes times = {};
  int sequences = 1;  // that shared the round, and the rows of its pass
  int pass_tokens = 0;
  HostCause host_cause = HostCause::kNone;
  TargetFacts facts = {};  // where the sequence keeps them
};

// The verdict's tokens; the nodes of a tree whose rows stay when these tokens
// are kept: the root and what was kept below it, for the last kept token,
// whatever it is, becomes the next root.
std::vector<TokenId> TokensOf(const DraftTree& tree, const Verdict& verdict);
std::vector<int> RowsOf(const Verdict& verdict, const Sequence::Kept& kept);

// Ends a round whose rows the session has committed: the text grows, sessions
// and policies are told, but for sessions whose counterparts drafted on the
// device. `scores` are the tree's.
absl::StatusOr<RoundRecord> Conclude(Sequence& sequence,
                                     const Sequence::Kept& kept, DraftTree tree,
                                     Verdict verdict, TargetFacts facts,
                                     const Scores& scores);

}  // namespace banyan

#endif  // BANYAN_DECODE_SEQUENCE_H_
