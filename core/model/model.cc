#include "core/model/model.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/device_round.h"
#include "core/prob/distribution.h"
#include "core/prob/logits.h"
#include "core/prob/round_plan.h"
#include "core/prob/sampling_rule.h"

namespace banyan {

absl::StatusOr<std::unique_ptr<Session>> Session::View(
    const ViewOptions& /*options*/) {
  return absl::UnimplementedError("this model has no layers to choose from");
}

absl::Status Session::Prefill(absl::Span<const TokenId> tokens) {
  return Prefill(tokens, {}, [](const Scores& /*piece*/, int /*rows*/) {
    return absl::OkStatus();
  });
}

absl::StatusOr<Distribution> Scores::Law(int row, const SamplingRule& rule,
                                         absl::Span<const TokenId> history,
                                         absl::Span<const TokenId> path) const {
  std::vector<double> logits;
  BANYAN_RETURN_IF_ERROR(Read(row, logits));
  return rule.ApplyTo(std::move(logits), history, path);
}

absl::StatusOr<std::vector<TokenLogit>> Scores::Best(int row, int k) const {
  std::vector<double> logits;
  BANYAN_RETURN_IF_ERROR(Read(row, logits));
  return BestLogits(logits, k);
}

absl::Status Scores::ReadHidden(int /*tap*/, int /*row*/,
                                absl::Span<float> /*out*/) const {
  Check(false, "hidden states that were not asked for");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Scores>> ScoreOne(const Model& model,
                                                 Session& session,
                                                 const TokenBatch& batch) {
  const ScoreRequest request = {&session, &batch};
  BANYAN_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Scores>> scores,
                          model.Score({&request, 1}));
  return std::move(scores.front());
}

absl::StatusOr<std::uint64_t> Model::ReadFromDisk() const {
  const OnDisk* const facet = facets().on_disk;
  if (facet != nullptr) return facet->ReadFromDisk();
  return absl::UnimplementedError("all weights of the model are in memory");
}

absl::StatusOr<std::unique_ptr<DeviceRound>> Model::NewDeviceRound(
    Session& session, const RoundPlan& plan,
    std::unique_ptr<DeviceDrafter> drafter) const {
  const DeviceRounds* const facet = facets().device_rounds;
  if (facet != nullptr)
    return facet->NewDeviceRound(session, plan, std::move(drafter));
  return absl::UnimplementedError("the model's device runs no rounds alone");
}

}  // namespace banyan
