// The target drafts for itself over a part of its KV cache (TriForce, Sun et
// al., arXiv:2404.11912). Where the text is long, a pass takes most of its time
// to read the KV cache, not the weights.
//
// The view sees the first tokens and the latest (StreamingLLM's part). Between
// them it sees the chunks that the text's last token attends to most, layer by
// layer, chosen when the prompt begins and again every `choose_every` tokens.
// The drafter `cascade` over this one, with a smaller model, saves passes of
// the view.
//
// What differs from the published program. It chooses chunks for each head of
// keys and values, by the product of query and mean key, always keeps chunk 0,
// and chooses once, after the prompt. Here a layer has one choice, by the
// attention mass of all its heads together, beside a window of the latest
// tokens. Its small model drafts over a StreamingLLM cache, without an end;
// `small_model` here sees all of the text, and stops at its own context.
#ifndef BANYAN_DRAFTERS_TARGET_TRIFORCE_TRIFORCE_H_
#define BANYAN_DRAFTERS_TARGET_TRIFORCE_TRIFORCE_H_

#include <memory>

#include "core/model/model.h"
#include "core/model/session_state.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/target/view_drafter.h"

namespace banyan {

class Triforce : public ViewDrafter {
 public:
  Triforce(std::shared_ptr<const Model> target, const SeenText& seen,
           int choose_every, SamplingRule rule);

  // The same part of every text of at most `limit` tokens, in numbers that are
  // no larger than that.
  static SeenText Within(int limit, SeenText seen);

  std::unique_ptr<DraftSession> NewSession() const override;

  // In tokens; 0: once a prompt.
  int choose_every() const { return choose_every_; }

 private:
  int choose_every_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TARGET_TRIFORCE_TRIFORCE_H_
