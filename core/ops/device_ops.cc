#include "core/ops/device_ops.h"

#include <variant>

namespace banyan {

absl::Status DeviceOps::RotateStore(const RotateArgs& queries,
                                    const RotateArgs& keys,
                                    absl::Span<const StoreKvArgs> sequences) {
  BANYAN_RETURN_IF_ERROR(Rotate(queries));
  BANYAN_RETURN_IF_ERROR(Rotate(keys));
  return StoreKv(sequences);
}

absl::Status MakeRows(DeviceOps& ops, const LinearInput& source) {
  if (const auto* norm = std::get_if<NormArgs>(&source)) return ops.Norm(*norm);
  if (const auto* activate = std::get_if<ActivateArgs>(&source))
    return ops.Activate(*activate);
  if (const auto* attended =
          std::get_if<absl::Span<const AttentionArgs>>(&source))
    return ops.Attention(*attended);
  return absl::OkStatus();
}

}  // namespace banyan
