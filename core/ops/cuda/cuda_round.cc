// The steps of a round, asked of the device.
#include <cstddef>
#include <variant>

#include "core/base/common.h"
#include "core/ops/backend.h"
#include "core/ops/cuda/cuda_backend.h"
#include "core/ops/cuda/cuda_buffer.h"
#include "core/ops/cuda/kernels/round_spans.h"
#include "core/ops/round_args.h"

namespace banyan {
namespace {

RoundSpans SpansOf(const RoundMemory& memory) {
  const std::size_t doubles =
      static_cast<std::size_t>(memory.layout.doubles) * sizeof(double);
  const std::size_t integers =
      static_cast<std::size_t>(memory.layout.integers) * sizeof(int);
  const DeviceSpan book = SpanOf(memory.book);
  return {.layout = memory.layout,
          .seed = memory.seed,
          .doubles = book.Part(0, doubles),
          .integers = book.Part(doubles, integers),
          .draft_distributions = SpanOf(memory.draft_distributions),
          .target_distributions = SpanOf(memory.target_distributions),
          .residual = SpanOf(memory.residual),
          .seen = SpanOf(memory.seen),
          .order = SpanOf(memory.order)};
}

struct Asker {
  CudaDevice& device;
  const OpKernels& kernels;
  const RoundSpans round;

  void operator()(const SelectArgs& args) const {
    kernels.select(device, round, args);
  }
  void operator()(const MergeArgs& /*args*/) const {
    kernels.merge(device, round);
  }
  void operator()(const DistributionArgs& args) const {
    kernels.distributions(device, round,
                          {.rule = args.rule,
                           .banned = SpanOf(args.banned),
                           .columns = SpanOf(args.columns),
                           .logits = args.logits,
                           .place = args.place});
  }
  void operator()(const DrawArgs& args) const {
    kernels.draw(device, round, args);
  }
  void operator()(const JudgeArgs& /*args*/) const {
    kernels.judge(device, round);
  }
  void operator()(const KeepArgs& args) const {
    kernels.keep(device, round, args);
  }
};

}  // namespace

absl::Status CudaBackend::RunStep(const RoundMemory& memory,
                                  const RoundStep& step) {
  Ask([&](CudaDevice& device) {
    std::visit(Asker{device, kernels_, SpansOf(memory)}, step);
  });
  return absl::OkStatus();
}

}  // namespace banyan
