// Letters between the blocks of a cluster, and how many clusters fit.
#include <cstdint>
#include <cstdio>

#include "tests/gpu/probe/probe-inl.h"

namespace banyan::probe {
namespace {

// Letters within a cluster: stored to every block's shared memory, waited for
// in one's own.
__global__ void __launch_bounds__(kThreads, 1)
    ClusterLetters(int count, int rounds, long long* clocks) {
  extern __shared__ __align__(128) char memory[];
  uint64_t* box = reinterpret_cast<uint64_t*>(memory);
  uint32_t rank, ranks;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(ranks));
  for (int i = threadIdx.x; i < 2 * count; i += kThreads) box[i] = 0;
  asm volatile(
      "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::
          : "memory");
  const long long start = clock64();
  for (int r = 1; r <= rounds; ++r) {
    const int from = (r & 1) * count;
    for (int i = threadIdx.x;
         i < count / static_cast<int>(ranks) * static_cast<int>(ranks);
         i += kThreads) {
      const uint32_t to = i % ranks, own = rank * (count / ranks) + i / ranks;
      uint32_t there;
      asm("mapa.shared::cluster.u32 %0, %1, %2;"
          : "=r"(there)
          : "r"(Shared(box + from + own)), "r"(to));
      asm volatile(
          "st.relaxed.cluster.shared::cluster.u64 [%0], %1;" ::"r"(there),
          "l"(static_cast<uint64_t>(r) << 32)
          : "memory");
    }
    const long long since = clock64();
    for (int i = threadIdx.x;
         i < count / static_cast<int>(ranks) * static_cast<int>(ranks);
         i += kThreads) {
      uint64_t v;
      do {
        asm volatile("ld.relaxed.cluster.shared::cta.u64 %0, [%1];"
                     : "=l"(v)
                     : "r"(Shared(box + from + i))
                     : "memory");
        Watch(since);
      } while (v >> 32 != static_cast<uint64_t>(r));
    }
    __syncthreads();
  }
  if (threadIdx.x == 0 && blockIdx.x == 0) *clocks = clock64() - start;
  asm volatile(
      "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::
          : "memory");
}

}  // namespace

void MeasureClusters() {
  const int rounds = 2000, shared = 200 << 10;
  long long* clocks = Zeros<long long>(8);
  BANYAN_MUST(cudaFuncSetAttribute(
      ClusterLetters, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  BANYAN_MUST(cudaFuncSetAttribute(
      ClusterLetters, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  for (int size : {8, 16}) {
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {static_cast<unsigned>(size), 1, 1};
    config.gridDim = size;
    config.blockDim = kThreads;
    config.dynamicSmemBytes = shared;
    config.attrs = &attribute;
    config.numAttrs = 1;
    int clusters = 0;
    BANYAN_MUST(
        cudaOccupancyMaxActiveClusters(&clusters, ClusterLetters, &config));
    std::printf("clusters of %d with 200 KB a block: %d at once\n", size,
                clusters);
    if (clusters == 0) continue;
    for (int count : {128, 1024}) {
      const double ms = Milliseconds(5, [&] {
        BANYAN_MUST(
            cudaLaunchKernelEx(&config, ClusterLetters, count, rounds, clocks));
      });
      std::printf(
          "letters within a cluster of %d, %4d to all: %.3f us a round\n", size,
          count, ms * 1e3 / rounds);
    }
  }
}

}  // namespace banyan::probe
