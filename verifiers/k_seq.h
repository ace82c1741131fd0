// K-SEQ verification (SpecTr).
#ifndef BANYAN_VERIFIERS_K_SEQ_H_
#define BANYAN_VERIFIERS_K_SEQ_H_

#include "verifiers/row.h"

namespace banyan {

// No keys.
VerifierRow KSeqRow();

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_K_SEQ_H_
