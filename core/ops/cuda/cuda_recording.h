// What a CudaBackend recorded: the device's graph, and what that refers to.
#ifndef BANYAN_CORE_OPS_CUDA_CUDA_RECORDING_H_
#define BANYAN_CORE_OPS_CUDA_CUDA_RECORDING_H_

#include <memory>
#include <utility>

#include "core/device/buffer.h"
#include "core/device/cuda/device.h"
#include "core/ops/backend.h"

namespace banyan {

class CudaRecording : public Recording {
 public:
  CudaRecording(std::shared_ptr<CudaDevice> device,
                std::unique_ptr<CudaGraph> graph,
                std::shared_ptr<const Buffer> scratch)
      : device_(std::move(device)),
        scratch_(std::move(scratch)),
        graph_(std::move(graph)) {}

  const CudaGraph& graph() const { return *graph_; }

 private:
  const std::shared_ptr<CudaDevice> device_;
  const std::shared_ptr<const Buffer> scratch_;  // whatever later calls want
  const std::unique_ptr<CudaGraph> graph_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CUDA_CUDA_RECORDING_H_
