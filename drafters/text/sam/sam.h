// SAM decoding: drafts what followed the end of the text where that end
// occurred first (Hu et al., arXiv:2411.10666).
//
// Claim. The longer a repeated passage, the surer its continuation. After a
// short one a model guesses better than a copy. A suffix automaton finds the
// longest one at almost no cost.
//
// Rule. The longest suffix of the text that occurs in it earlier has l tokens.
// The longest suffix that occurs in texts of earlier prompts has l' tokens,
// which are worth l' - `bias`. The larger is taken, the text's own on a tie. If
// it is at least `threshold`, what followed is drafted, a chain of at most
// `tokens`; else nothing. The authors then hand over to another drafter, as
// `or_else` does.
//
// The continuation is read after the earliest place. In the text itself that
// may be so near the end that fewer than `tokens` follow, as in a repetition
// under way. Then shorter suffixes, by the links of the automaton, are tried
// until `tokens` follow or none is left. That takes at most `tokens` steps:
// their first places all lie among the last `tokens` tokens, and no two of them
// occur at the same places. Past texts end where they end.
//
// Promise() is the worth of the match, at most the draft's length: a repetition
// of n tokens is as likely as not to last n more.
//
// Why the output distribution is kept. The draft is chosen when a round is
// committed, from committed text and from texts of prompts that ended before
// this one began. A chain gives one token a node, a one-hot distribution.
//
// State. The past texts are none unless `reset` is never. Then what was emitted
// in each prompt is taken over, in their order, up to `texts` of them
// (past_texts.h). A session sees them as they were when it was made: adding to
// texts that sessions read copies them first, which in batches is one copy a
// prompt.
//
// What differs: the authors pad a chain that is too short with token 0, which
// may be accepted by luck; here it ends. They draft `tokens` - 1 after the
// root, and go to a shorter suffix unless `tokens` + 1 follow the longer one;
// here both are `tokens`. So with `tokens: 39` the length is theirs, and with
// 40 one to three of a hundred drafts are copied from another place. Their past
// texts are a corpus that is read before, where a chain runs on into the next
// text.
#ifndef BANYAN_DRAFTERS_TEXT_SAM_SAM_H_
#define BANYAN_DRAFTERS_TEXT_SAM_SAM_H_

#include <memory>

#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/row.h"
#include "drafters/text/carried_texts.h"
#include "drafters/text/plan_drafter.h"
#include "drafters/text/sam/past_texts.h"

namespace banyan {

struct SamOptions {  // the authors' numbers
  int threshold = 5;
  int bias = 5;
  int tokens = 40;  // 15 in their command line
  bool keep_texts = false;
  int texts = 10'000;
};

class Sam : public PlanDrafter {
 public:
  // threshold >= 1, tokens >= 1.
  Sam(int vocab_size, const SamOptions& options, const SamplingRule& rule);

  std::unique_ptr<DraftSession> NewSession() const override;

 private:
  class Sequence;

  SamOptions options_;
  CarriedTexts<PastTexts> past_;
};

DrafterRow SamRow();

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_SAM_SAM_H_
