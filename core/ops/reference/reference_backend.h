// ReferenceBackend: every op as plain loops with sums in double. What other
// backends are checked against, and what to read first.
#ifndef BANYAN_CORE_OPS_REFERENCE_REFERENCE_BACKEND_H_
#define BANYAN_CORE_OPS_REFERENCE_REFERENCE_BACKEND_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/device/buffer.h"
#include "core/ops/backend.h"
#include "core/ops/host/plain_round.h"
#include "core/ops/round_args.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"

namespace banyan {

class ReferenceBackend : public Backend {
 public:
  BackendFacts facts() const override {
    return {.device = "reference", .own_rounds = OwnRounds::kWhenAsked};
  }
  std::string description() const override { return "reference"; }
  // Every call has done its work when it returns.
  absl::Status Finish() override { return absl::OkStatus(); }

  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(std::size_t bytes) override;
  absl::Status Upload(absl::Span<const std::byte> from, Buffer& to,
                      std::size_t offset) override;
  absl::Status Download(const Buffer& from, std::size_t offset,
                        absl::Span<std::byte> to) override;
  absl::StatusOr<std::unique_ptr<Weight>> Pack(WeightFormat format, int rows,
                                               int columns,
                                               WeightRows source) override;
  absl::StatusOr<std::unique_ptr<Weight>> Adopt(WeightFormat format, int rows,
                                                int columns,
                                                PanelSource source) override;
  absl::StatusOr<std::unique_ptr<Weight>> Part(const Weight& whole, int first,
                                               int count) override;
  absl::Status ReserveKv(KvCache& cache, int slots, int used) override;
  absl::Status Embed(const EmbedArgs& args) override;
  absl::Status Norm(const NormArgs& args) override;
  absl::Status Linear(const LinearArgs& args) override;
  absl::Status Rotate(const RotateArgs& args) override;
  absl::Status Activate(const ActivateArgs& args) override;
  absl::Status Copy(const CopyArgs& args) override;
  absl::Status StoreKv(absl::Span<const StoreKvArgs> sequences) override;
  absl::Status MoveKv(const MoveKvArgs& args) override;
  absl::Status Attention(absl::Span<const AttentionArgs> sequences) override;
  absl::Status AttentionMass(const AttentionMassArgs& args) override;
  absl::Status RunStep(const RoundMemory& memory,
                       const RoundStep& step) override {
    return host::RunStep(memory, step, *this);
  }
  absl::StatusOr<Distribution> Law(const LawArgs& args) override;
  absl::StatusOr<std::vector<TokenLogit>> Best(const BestArgs& args) override;
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_REFERENCE_REFERENCE_BACKEND_H_
