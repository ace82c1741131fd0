// Drafting by copying from the earliest match (prompt lookup decoding as
// published, Saxena 2023, and as the transformers library has it).
//
// When a round begins, the text's last k tokens are looked for in its last
// `history` tokens, from k = max_match down to min_match. At the first k that
// stands there with something after it, the `span` tokens after the earliest
// such place are the draft, a chain. It promises all of them.
//
// A round reads the history once for each k.
#ifndef BANYAN_DRAFTERS_TEXT_COPY_FIRST_COPY_H_
#define BANYAN_DRAFTERS_TEXT_COPY_FIRST_COPY_H_

#include <memory>
#include <optional>

#include "drafters/drafter.h"
#include "drafters/text/copy/copy.h"
#include "drafters/text/plan_drafter.h"

namespace banyan {

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

#endif  // BANYAN_DRAFTERS_TEXT_COPY_FIRST_COPY_H_
