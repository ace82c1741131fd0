#include "decode/plain_decoder.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "decode/sequence.h"

namespace banyan {

absl::StatusOr<std::vector<TokenId>> DecodePlainly(const Model& target,
                                                   const SamplingRule& rule,
                                                   const Prompt& prompt,
                                                   const StopRule& stop,
                                                   RandomSource& random) {
  BANYAN_ASSIGN_OR_RETURN(Sequence sequence,
                          Sequence::Start(target, prompt, stop));
  const Context& context = sequence.context;
  std::vector<TokenId> emitted;
  while (sequence.stopped == StopReason::kNone) {
    const TokenBatch batch =
        TokenBatch::Chain({context.root()}, sequence.session->length());
    BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Scores> scores,
                            ScoreOne(target, *sequence.session, batch));
    BANYAN_ASSIGN_OR_RETURN(Distribution law,
                            scores->Law(0, rule, context.tokens, {}));
    const Chance chance(random, context.prompt, context.round);
    const TokenId next =
        law.TokenAt(chance.Draw(law.weights(), Purpose::kTarget, 0));
    BANYAN_RETURN_IF_ERROR(sequence.session->Commit({0}));
    sequence.Append(sequence.Cut({next}));
    emitted.push_back(next);
  }
  return emitted;
}

}  // namespace banyan
