// The memory's and the second-level cache's rates by depth of rings and size of
// copies.
#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "tests/gpu/probe/probe-inl.h"

namespace banyan::probe {
namespace {

// A ring a warp, filled ahead by its lane 0. Block b, warp w: part (b * 8 + w)
// of the buffer, `same`: all read the first part, again and again. Lanes read
// what came, 16 bytes each.
__global__ void __launch_bounds__(kThreads, 1)
    Stream(const char* from, long long part, long long total, int stage,
           int stages, bool same, bool once, uint32_t* odd) {
  extern __shared__ __align__(128) char memory[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  char* ring = memory + warp * stage * stages;
  uint64_t* bars =
      reinterpret_cast<uint64_t*>(memory + kWarps * stage * stages) +
      warp * stages;
  if (lane == 0)
    for (int i = 0; i < stages; ++i)
      asm volatile(
          "mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(Shared(bars + i)));
  asm volatile("fence.mbarrier_init.release.cluster;");
  __syncthreads();
  const char* mine = from + (same ? warp : blockIdx.x * kWarps + warp) * part;
  long long asked = 0, used = 0;
  int at = 0, next = 0;
  uint32_t parity = 0, all = 0;
  const auto ask = [&] {
    if (asked >= total) return;
    if (lane == 0)
      Copy(Shared(ring + next * stage), mine + asked % part, stage,
           Shared(bars + next), once);
    asked += stage;
    next = next + 1 == stages ? 0 : next + 1;
  };
  for (int i = 0; i < stages; ++i) ask();
  while (used < total) {
    Await(Shared(bars + at), parity);
    for (int i = lane * 16; i < stage; i += 512) {
      const uint4 v = *reinterpret_cast<const uint4*>(ring + at * stage + i);
      all |= v.x ^ v.y ^ v.z ^ v.w;
    }
    __syncwarp();
    ask();
    used += stage;
    if (++at == stages) at = 0, parity ^= 1;
  }
  if (all == 0x12345678u) odd[0] = all;
}
// The same by loads to registers, four of 16 bytes a thread under way.
__global__ void __launch_bounds__(256, 4)
    Load(const uint4* from, long long packs, uint32_t* odd) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  uint32_t all = 0;
  for (long long i =
           static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < packs; i += 4 * threads) {
    uint4 v[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
      v[k] = i + k * threads < packs ? from[i + k * threads] : uint4{};
#pragma unroll
    for (int k = 0; k < 4; ++k) all |= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
  }
  if (all == 0x12345678u) odd[0] = all;
}

}  // namespace

char* Buffer(uint32_t* odd) {
  char* buffer = Zeros<char>(kBuffer);
  for (int i = 0; i < 200; ++i)
    Load<<<Multiprocessors() * 4, 256>>>(reinterpret_cast<uint4*>(buffer),
                                         kBuffer / 16, odd);
  BANYAN_MUST(cudaGetLastError());
  BANYAN_MUST(cudaDeviceSynchronize());
  return buffer;
}

void MeasureMemory() {
  const int sms = Multiprocessors();
  uint32_t* odd = Zeros<uint32_t>(4);
  char* buffer = Buffer(odd);
  const double plain = Milliseconds(9, [&] {
    Load<<<sms * 4, 256>>>(reinterpret_cast<uint4*>(buffer), kBuffer / 16, odd);
  });
  std::printf("memory by loads to registers: %.0f GB/s\n",
              kBuffer / plain / 1e6);
  for (int stage : {1024, 2048, 4096})
    for (int kb : {16, 32, 64, 96, 112, 160, 208}) {
      const int stages = (kb << 10) / kWarps / stage;
      if (stages < 2) continue;
      const long long part = kBuffer / (sms * kWarps) / stage * stage;
      const double ms = Milliseconds(5, [&] {
        Together(Stream, sms, kThreads, kWarps * stages * (stage + 8), buffer,
                 part, part, stage, stages, false, true, odd);
      });
      std::printf("memory by rings of %3d KB, copies of %d: %.0f GB/s\n",
                  kWarps * stages * stage >> 10, stage,
                  part * sms * kWarps / ms / 1e6);
    }
}

void MeasureCache() {
  const int sms = Multiprocessors();
  uint32_t* odd = Zeros<uint32_t>(4);
  char* buffer = Buffer(odd);
  for (int kb : {8, 32, 256,
                 1024}) {  // of all warps together; every block reads the same
    const long long part = (static_cast<long long>(kb) << 10) / kWarps,
                    total = part * std::max(1, 16384 / kb);
    const int stage = static_cast<int>(std::min<long long>(part, 4096)),
              stages = 160 * 1024 / kWarps / stage;
    const double ms = Milliseconds(5, [&] {
      Together(Stream, sms, kThreads, kWarps * stages * (stage + 8), buffer,
               part, total, stage, stages, true, false, odd);
    });
    std::printf("second-level cache, all read the same %4d KB: %.0f GB/s\n", kb,
                total * sms * kWarps / ms / 1e6);
  }
  for (int kb : {64, 256}) {  // 8 and 34 MB in all
    const long long part = (static_cast<long long>(kb) << 10) / kWarps,
                    total = part * (16384 / kb);
    const double ms = Milliseconds(5, [&] {
      Together(Stream, sms, kThreads, kWarps * 5 * (4096 + 8), buffer, part,
               total, 4096, 5, false, false, odd);
    });
    std::printf("second-level cache, %3d KB a block: %.0f GB/s\n", kb,
                total * sms * kWarps / ms / 1e6);
  }
}

}  // namespace banyan::probe
