// A backend that keeps what its ops give, one after the other, so that two
// devices can be compared op by op.
#ifndef BANYAN_TESTS_GPU_TRACED_BACKEND_H_
#define BANYAN_TESTS_GPU_TRACED_BACKEND_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/base/weight_format.h"
#include "core/device/buffer.h"
#include "core/ops/backend.h"
#include "core/ops/device_ops.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"

namespace banyan {

// What one op wrote: rows of 32-bit words. Of floats where `floats`.
struct TracedStep {
  std::string op;
  int rows = 0;
  int columns = 0;
  bool floats = true;
  std::vector<std::uint32_t> words;
};

// Where two traces part first: "linear, op 12 of 40: row 3, column 17:
// 0x3f800000 and 0x3f800001". Numbers that are none count as equal. Nothing if
// they are the same.
std::optional<std::string> FirstDifference(
    const std::vector<TracedStep>& one, const std::vector<TracedStep>& other);

// Requires a CudaBackend. A download that fails ends the program.
class TracedBackend : public Backend {
 public:
  explicit TracedBackend(std::shared_ptr<Backend> inner);

  // What was done since it was last asked for: matrices that were packed,
  // numbers and scales, and, with ops(true), what ops gave.
  std::vector<TracedStep> Take();
  void ops(bool traced) { traced_ = traced; }

  BackendFacts facts() const override;
  std::string description() const override;
  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(std::size_t bytes) override;
  absl::Status Upload(absl::Span<const std::byte> from, Buffer& to,
                      std::size_t offset) override;
  absl::Status Download(const Buffer& from, std::size_t offset,
                        absl::Span<std::byte> to) override;
  absl::Status Finish() override;
  absl::StatusOr<std::unique_ptr<Weight>> Pack(WeightFormat format, int rows,
                                               int columns,
                                               WeightRows source) override;
  absl::Status Embed(const EmbedArgs& args) override;
  absl::Status Norm(const NormArgs& args) override;
  absl::Status Linear(const LinearArgs& args) override;
  absl::Status Rotate(const RotateArgs& args) override;
  absl::Status Activate(const ActivateArgs& args) override;
  absl::Status Copy(const CopyArgs& args) override;
  absl::Status ReserveKv(KvCache& cache, int slots, int used) override;
  absl::Status StoreKv(absl::Span<const StoreKvArgs> sequences) override;
  absl::Status MoveKv(const MoveKvArgs& args) override;
  absl::Status Attention(absl::Span<const AttentionArgs> sequences) override;
  absl::Status AttentionMass(const AttentionMassArgs& args) override;
  absl::StatusOr<std::unique_ptr<Weight>> PackPaired(
      WeightFormat format, int rows, int columns, RowPairs pairs,
      WeightRows source) override;
  absl::Status RotateStore(const RotateStoreArgs& args) override;
  absl::StatusOr<Distribution> Law(const LawArgs& args) override;
  absl::StatusOr<std::vector<TokenLogit>> Best(const BestArgs& args) override;

 private:
  std::unique_ptr<Weight> KeepPacked(std::unique_ptr<Weight> weight);
  // Keeps what stands in all of a buffer, or in a tensor.
  void Keep(const std::string& op, const Buffer* buffer);
  void Keep(const std::string& op, const Tensor& tensor);
  void Keep(const std::string& op, const KvCache& cache);
  void Keep(const std::string& op, const RotateStoreArgs& args);
  // Keeps it if the op went well.
  template <typename Result>
  absl::Status Kept(absl::Status status, const std::string& op,
                    const Result& result) {
    if (traced_ && status.ok()) Keep(op, result);
    return status;
  }

  std::shared_ptr<Backend> inner_;
  bool traced_ = false;
  std::vector<TracedStep> steps_;
};

}  // namespace banyan

#endif  // BANYAN_TESTS_GPU_TRACED_BACKEND_H_
