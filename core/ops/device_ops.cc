#include "core/ops/device_ops.h"

#include <variant>

namespace banyan {

absl::Status DeviceOps::RotateStore(const RotateStoreArgs& args) {
  BANYAN_RETURN_IF_ERROR(Rotate(args.queries));
  BANYAN_RETURN_IF_ERROR(Rotate(args.keys));
  return StoreKv(args.sequences);
}

absl::Status DoNext(DeviceOps& ops, const LinearOutput& then) {
  if (const auto* activate = std::get_if<ActivateArgs>(&then))
    return ops.Activate(*activate);
  if (const auto* store = std::get_if<RotateStoreArgs>(&then))
    return ops.RotateStore(*store);
  return absl::OkStatus();
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
