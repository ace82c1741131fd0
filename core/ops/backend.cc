#include "core/ops/backend.h"

namespace banyan {

absl::StatusOr<std::unique_ptr<Gauge>> Backend::NewGauge(
    std::size_t /*bytes*/, const Clock& /*clock*/) {
  return absl::UnimplementedError(
      absl::StrCat(description(), " does not know its own limits"));
}

absl::StatusOr<std::unique_ptr<Recording>> Backend::Record(
    absl::FunctionRef<absl::Status()> /*work*/) {
  return absl::UnimplementedError(
      absl::StrCat(description(), " records nothing"));
}

absl::Status Backend::Replay(const Recording& /*recording*/) {
  return absl::UnimplementedError(
      absl::StrCat(description(), " records nothing"));
}

absl::StatusOr<std::unique_ptr<Weight>> Backend::Adopt(WeightFormat format,
                                                       int /*rows*/,
                                                       int /*columns*/,
                                                       PanelSource /*source*/) {
  return absl::UnimplementedError(
      absl::StrCat(description(), " does not read packed ", Name(format),
                   " weights; expected the device cpu or reference"));
}

absl::StatusOr<std::unique_ptr<Weight>> Backend::Stream(
    WeightFormat /*format*/, int /*rows*/, int /*columns*/,
    StreamedPanels /*panels*/) {
  return absl::UnimplementedError(absl::StrCat(
      description(), " has no bound on memory; expected the device cpu"));
}

absl::StatusOr<std::unique_ptr<Weight>> Backend::Part(const Weight& /*whole*/,
                                                      int /*first*/,
                                                      int /*count*/) {
  return absl::UnimplementedError(
      absl::StrCat(description(),
                   " shares no model with other ranks; expected the device cpu "
                   "or reference"));
}

absl::Status Backend::RunStep(const RoundMemory& /*memory*/,
                              const RoundStep& /*step*/) {
  return absl::UnimplementedError(
      absl::StrCat(description(), " runs no rounds alone"));
}

}  // namespace banyan
