// What the sections of the probe share: copies to shared memory that are waited
// for, launches, and times.
#ifndef BANYAN_TESTS_GPU_PROBE_PROBE_INL_H_
#define BANYAN_TESTS_GPU_PROBE_PROBE_INL_H_

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace banyan::probe {

// The sections. Each prints a line a measurement.
void CompareBits();
void MeasureLetters();
void MeasureLaunches();
void MeasureMemory();
void MeasureCache();
void MeasureClusters();

inline void Must(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}
#define BANYAN_MUST(call) ::banyan::probe::Must(call, #call)

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

__device__ __forceinline__ uint32_t Shared(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
__device__ __forceinline__ void Watch(long long since) {
  if (clock64() - since > 4'000'000'000LL) __trap();
}
__device__ __forceinline__ void Await(uint32_t bar, uint32_t parity) {
  uint32_t done = 0;
  const long long since = clock64();
  while (!done) {
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], "
        "%2;\nselp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(bar), "r"(parity)
        : "memory");
    if (!done) Watch(since);
  }
}
__device__ __forceinline__ void Copy(uint32_t to, const void* from, int bytes,
                                     uint32_t bar, bool once) {
  uint64_t policy;
  if (once)
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;"
                 : "=l"(policy));
  else
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;"
                 : "=l"(policy));
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar),
      "r"(bytes)
      : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::"
      "cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(to),
      "l"(from), "r"(bytes), "r"(bar), "l"(policy)
      : "memory");
}

template <typename Work>
double Milliseconds(int times, const Work& work) {
  cudaEvent_t begin, end;
  BANYAN_MUST(cudaEventCreate(&begin));
  BANYAN_MUST(cudaEventCreate(&end));
  work();
  std::vector<float> all;
  for (int i = 0; i < times; ++i) {
    BANYAN_MUST(cudaEventRecord(begin));
    work();
    BANYAN_MUST(cudaEventRecord(end));
    BANYAN_MUST(cudaEventSynchronize(end));
    float ms = 0;
    BANYAN_MUST(cudaEventElapsedTime(&ms, begin, end));
    all.push_back(ms);
  }
  BANYAN_MUST(cudaGetLastError());
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}
template <typename... Parameters, typename... Arguments>
void Together(void (*kernel)(Parameters...), int blocks, int threads,
              int shared, Arguments... arguments) {
  BANYAN_MUST(cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared;
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  BANYAN_MUST(cudaLaunchKernelEx(&config, kernel,
                                 static_cast<Parameters>(arguments)...));
}

inline int Multiprocessors() {
  int sms = 0;
  BANYAN_MUST(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  return sms;
}
template <typename T>
T* Zeros(long long bytes) {
  T* memory = nullptr;
  BANYAN_MUST(cudaMalloc(&memory, bytes));
  BANYAN_MUST(cudaMemset(memory, 0, bytes));
  return memory;
}

// Memory for kernels to read, of kBuffer bytes. The clocks have risen when it
// returns.
constexpr long long kBuffer = 4LL << 30;
char* Buffer(uint32_t* odd);

}  // namespace banyan::probe

#endif  // BANYAN_TESTS_GPU_PROBE_PROBE_INL_H_
