// BiLD's rollback (Big Little Decoder). Lossy.
#ifndef BANYAN_VERIFIERS_BILD_H_
#define BANYAN_VERIFIERS_BILD_H_

#include "verifiers/row.h"

namespace banyan {

// Keys: `rollback`, in nats, `next` (sampled or argmax). Its authors call 2 to
// 5 nats normal; the default is 3, a token of mass .05.
VerifierRow BildRow();

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_BILD_H_
