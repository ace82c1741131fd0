// CpuBackend: the fast backend on this machine.
//
// Every kernel is compiled for several instruction sets; the best one the
// processor has is used unless another is asked for. Results are the same to
// the last bit on all of them and with any number of threads, but for products
// with bfloat16 weights in tile registers, whose order of sums is their own
// (BackendFacts::sums). Each kernel's file, cpu/NAME.cc, states the order.
#ifndef BANYAN_CORE_OPS_CPU_CPU_BACKEND_H_
#define BANYAN_CORE_OPS_CPU_CPU_BACKEND_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/device/buffer.h"
#include "core/device/host_buffer.h"
#include "core/device/thread_pool.h"
#include "core/ops/backend.h"
#include "core/ops/cpu/tiles.h"
#include "core/ops/host/plain_round.h"
#include "core/ops/round_args.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"

namespace banyan {

struct CpuOptions {
  int threads = 0;              // 0: all the process may use
  std::string instruction_set;  // one of InstructionSets(); empty: the first
  AmxState amx = AskForAmx();
};

class CpuBackend : public Backend {
 public:
  // The instruction sets of this processor that the kernels know, best first.
  static std::vector<std::string> InstructionSets();

  // Fails if the thread count is negative or above 256, or the processor lacks
  // the instruction set.
  static absl::StatusOr<std::unique_ptr<CpuBackend>> Create(
      const CpuOptions& options = {});

  BackendFacts facts() const override;
  std::string description() const override;
  // Every call has done its work when it returns.
  absl::Status Finish() override { return absl::OkStatus(); }
  absl::StatusOr<std::unique_ptr<Gauge>> NewGauge(std::size_t bytes,
                                                  const Clock& clock) override;
  int threads() const { return pool_.threads(); }
  TileMaker tiles() const { return tiles_; }
  // Calls task(piece, kernel) for as many pieces as there are threads; `kernel`
  // is the place of this backend's instruction set in Highway's tables.
  void RunPieces(absl::FunctionRef<void(int, std::size_t)> task) {
    pool_.Run(threads(), [&](int piece) { task(piece, kernel_); });
  }

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
  absl::StatusOr<std::unique_ptr<Weight>> Stream(
      WeightFormat format, int rows, int columns,
      StreamedPanels panels) override;
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

 private:
  CpuBackend(std::string instruction_set, std::size_t kernel, TileMaker tiles,
             std::string note, int threads);

  // Calls task(first, end) on pieces of [0, size), shared out to the threads;
  // on this thread alone if `work`, in arithmetic operations, is not worth it.
  void Split(int size, double work,
             absl::FunctionRef<void(int first, int end)> task);

  // The product alone.
  absl::Status Multiply(const LinearArgs& args);
  absl::Status ReserveScratch(std::size_t bytes);

  std::string instruction_set_;
  std::size_t kernel_;  // the place of its kernels in Highway's tables
  TileMaker tiles_;     // that multiplies bfloat16s and bytes
  std::string note_;
  ThreadPool pool_;
  std::mutex scratch_turn_;
  std::unique_ptr<HostBuffer> scratch_;  // quantised or split activations
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CPU_CPU_BACKEND_H_
