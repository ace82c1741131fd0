// Drafting by copying (prompt lookup): what followed the same tokens earlier.
//
// At a node the text is the committed text and the node's path. Wherever its
// last k tokens, min_match <= k <= max_match, stand in the last `history`
// committed tokens, the token after them is a candidate. The path makes the
// text longer but is not looked in. Candidates are distinct and ranked by the
// longest match, then by the latest occurrence of it; the scores halve with the
// rank, so that a path's worth falls with every second choice.
//
// Promise() is the length of the match: a repetition of n tokens is as likely
// as not to last n more.
//
// What differs from the published program (prompt lookup decoding, and the
// transformers library): it takes the earliest place of the longest match of 3
// to 1 tokens, once a round, and copies a span of 10 after it. Here each node
// looks for itself, and takes the latest place, where the text has been of
// late. With `first` it is the published rule: `first: true,
// max_match: 3, min_match: 1, span: 10, history: 0`.
//
// An occurrence gives no distribution of what follows. The scores only rank, so
// the draws are deterministic.
#ifndef BANYAN_DRAFTERS_TEXT_COPY_COPY_H_
#define BANYAN_DRAFTERS_TEXT_COPY_COPY_H_

#include <memory>
#include <optional>
#include <vector>

#include "core/base/common.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"
#include "drafters/text/plan_drafter.h"

namespace banyan {

struct CopyOptions {
  int max_match = 8;
  int min_match = 2;
  int history = 512;  // tokens; 0: all
};

class Copy : public Drafter {
 public:
  // 1 <= min_match <= max_match, and the history holds max_match + 1 tokens.
  Copy(int vocab_size, const CopyOptions& options);

  std::unique_ptr<DraftSession> NewSession() const override;
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override;

 private:
  int vocab_size_;
  CopyOptions options_;
};

// Drafting by copying from the earliest match (prompt lookup decoding as
// published, Saxena 2023, and as the transformers library has it).
//
// When a round begins, the text's last k tokens are looked for in its last
// `history` tokens, from k = max_match down to min_match. At the first k that
// stands there with something after it, the `span` tokens after the earliest
// such place are the draft, a chain. It promises all of them.
//
// A round reads the history once for each k.
class FirstCopy : public PlanDrafter {
 public:
  // span >= 1; options as Copy's.
  FirstCopy(int vocab_size, const CopyOptions& options, int span)
      : PlanDrafter(vocab_size, /*rule=*/std::nullopt, /*carried=*/nullptr),
        options_(options),
        span_(span) {}

  std::unique_ptr<DraftSession> NewSession() const override;

 private:
  CopyOptions options_;
  int span_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_COPY_COPY_H_
