// Plain decoding, one token a pass: what every lossless method must reproduce.
// Written without trees or verifiers, so that it can be their oracle.
#ifndef BANYAN_DECODE_PLAIN_DECODER_H_
#define BANYAN_DECODE_PLAIN_DECODER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "decode/sequence.h"

namespace banyan {

absl::StatusOr<std::vector<TokenId>> DecodePlainly(const Model& target,
                                                   const SamplingRule& rule,
                                                   const Prompt& prompt,
                                                   const StopRule& stop,
                                                   RandomSource& random);

}  // namespace banyan

#endif  // BANYAN_DECODE_PLAIN_DECODER_H_
