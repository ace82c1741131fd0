// Beam search written as plainly as it can be: a fresh session for every text,
// every token a candidate, all sorted.
#ifndef BANYAN_TESTS_DECODE_BEAM_BEAM_ORACLE_H_
#define BANYAN_TESTS_DECODE_BEAM_BEAM_ORACLE_H_

#include <vector>

#include "core/base/token.h"
#include "core/model/model.h"
#include "decode/beam/beam_search.h"
#include "decode/sequence.h"

namespace banyan {

struct OracleBeam {
  std::vector<FoundText> beam;
  StopReason stopped = StopReason::kNone;
  int steps = 0;
  int rows = 0;  // Each live text has one in each step.
};

OracleBeam SearchByTheBook(const Model& model,
                           const std::vector<TokenId>& prompt,
                           const StopRule& stop, const BeamOptions& options);

}  // namespace banyan

#endif  // BANYAN_TESTS_DECODE_BEAM_BEAM_ORACLE_H_
