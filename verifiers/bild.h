// BiLD's rollback (Big Little Decoder). Lossy.
#ifndef BANYAN_VERIFIERS_BILD_H_
#define BANYAN_VERIFIERS_BILD_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "verifiers/verifier.h"

namespace banyan {

// Keys: `rollback`, in nats, `next` (sampled or argmax). Its authors call 2 to
// 5 nats normal; the default is 3, a token of mass .05.
absl::StatusOr<std::unique_ptr<Verifier>> BuildBild(ParamsReader& in);

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_BILD_H_
