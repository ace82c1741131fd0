// Whether a packed model's header agrees with itself about its tensors.
#ifndef BANYAN_CORE_PACK_PACK_TENSORS_H_
#define BANYAN_CORE_PACK_PACK_TENSORS_H_

#include "absl/status/status.h"
#include "core/pack/pack_file.h"

namespace banyan {

// InvalidArgument, "tensor 'NAME': expected ..., found ...", unless every
// tensor is one whole vector, or a matrix each of whose rows is in one packed
// matrix once.
absl::Status CheckTensors(const PackHeader& header);

}  // namespace banyan

#endif  // BANYAN_CORE_PACK_PACK_TENSORS_H_
