// Match verification: keep a drafted token if the target draws it too.
#ifndef BANYAN_VERIFIERS_MATCH_H_
#define BANYAN_VERIFIERS_MATCH_H_

#include "verifiers/row.h"

namespace banyan {

// No keys.
VerifierRow MatchRow();

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_MATCH_H_
