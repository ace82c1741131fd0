// A sequence under way: its prompt, its cache, when it stops.
#ifndef BANYAN_DECODE_SEQUENCE_H_
#define BANYAN_DECODE_SEQUENCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "drafters/drafter.h"
#include "tree/tree_policy.h"

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_DECODE_SEQUENCE_H_
