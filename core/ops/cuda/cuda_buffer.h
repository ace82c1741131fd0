// Gives kernels the device's memory of a CudaBackend's buffers and matrices.
#ifndef BANYAN_CORE_OPS_CUDA_CUDA_BUFFER_H_
#define BANYAN_CORE_OPS_CUDA_CUDA_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/device/buffer.h"
#include "core/device/cuda/device.h"
#include "core/device/cuda/span.h"
#include "core/ops/op_args.h"

namespace banyan {

// The device's memory is freed when the work that uses it is done.
class CudaBuffer : public Buffer {
 public:
  CudaBuffer(std::shared_ptr<CudaDevice> device, DeviceSpan span)
      : device_(std::move(device)), span_(span) {}
  ~CudaBuffer() override { device_->Free(span_); }

  std::size_t bytes() const override { return span_.bytes; }
  DeviceSpan span() const { return span_; }

 private:
  const std::shared_ptr<CudaDevice> device_;
  const DeviceSpan span_;
};

inline DeviceSpan SpanOf(const Buffer* buffer) {
  return buffer == nullptr ? DeviceSpan()
                           : static_cast<const CudaBuffer*>(buffer)->span();
}

// Returns the memory from the first row's first number to the last row's last.
inline DeviceSpan NumbersOf(const Tensor& x) {
  if (x.empty() || x.rows == 0) return {};
  const std::size_t numbers = static_cast<std::size_t>(x.rows - 1) * x.stride +
                              static_cast<std::size_t>(x.columns);
  return SpanOf(x.buffer).Part(x.offset * sizeof(float),
                               numbers * sizeof(float));
}

inline DeviceSpan ListOf(const Ints& ints, std::size_t size) {
  return SpanOf(ints.buffer)
      .Part(ints.offset * sizeof(std::int32_t), size * sizeof(std::int32_t));
}

// Returns the number's memory; it is empty where there is no number.
inline DeviceSpan LiveOf(const Live& live) {
  return live.empty() ? DeviceSpan() : ListOf(live.at, 1);
}

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CUDA_CUDA_BUFFER_H_
