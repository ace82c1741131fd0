// What mma.sync and wgmma add up, beside the model of tensor cores.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "tests/gpu/probe/model.h"
#include "tests/gpu/probe/probe-inl.h"

namespace banyan::probe {
namespace {

// Bits: 64 rows of a (as mma.sync's fragments, 16 rows a warp) by 64 rows of b,
// along `tiles` of 16, by both.
__device__ __forceinline__ void Mma(float* c, uint4 a, uint32_t b0,
                                    uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void Wgmma(float (&c)[32], uint4 a, uint64_t b) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, 1, "
      "0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%"
      "20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31},{%32,%33,%34,%35},%36,p,"
      "1,1,0;\n}"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]),
        "+f"(c[6]), "+f"(c[7]), "+f"(c[8]), "+f"(c[9]), "+f"(c[10]),
        "+f"(c[11]), "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15]),
        "+f"(c[16]), "+f"(c[17]), "+f"(c[18]), "+f"(c[19]), "+f"(c[20]),
        "+f"(c[21]), "+f"(c[22]), "+f"(c[23]), "+f"(c[24]), "+f"(c[25]),
        "+f"(c[26]), "+f"(c[27]), "+f"(c[28]), "+f"(c[29]), "+f"(c[30]),
        "+f"(c[31])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "l"(b));
}
// b lies as core matrices: 8 rows of 16 bytes; those of the same 8 columns
// follow each other (128 bytes apart), the next 8 columns 1024 bytes on.
__device__ __forceinline__ uint64_t Descriptor(uint32_t address) {
  return static_cast<uint64_t>((address & 0x3FFFF) >> 4) |
         (static_cast<uint64_t>(1024 >> 4) << 16) |
         (static_cast<uint64_t>(128 >> 4) << 32);
}
__global__ void __launch_bounds__(128, 1)
    Bits(const uint4* a, const uint4* b, int tiles, float* by_mma,
         float* by_wgmma) {
  extern __shared__ __align__(128) char memory[];
  uint4* shared = reinterpret_cast<uint4*>(memory);  // 128 a tile
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = threadIdx.x; i < tiles * 128; i += 128) shared[i] = b[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  float one[32] = {}, two[32] = {};
  const uint32_t* words = reinterpret_cast<const uint32_t*>(memory);
  for (int t = 0; t < tiles; ++t) {
    const uint4 own = a[(t * 4 + warp) * 32 + lane];
#pragma unroll
    for (int g = 0; g < 8; ++g)
      Mma(one + g * 4, own, words[t * 512 + g * 32 + lane],
          words[t * 512 + 256 + g * 32 + lane]);
  }
  for (int t = 0; t < tiles; ++t) {
    const uint4 own = a[(t * 4 + warp) * 32 + lane];
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    Wgmma(two, own, Descriptor(Shared(memory) + t * 2048));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    by_mma[threadIdx.x * 32 + i] = one[i];
    by_wgmma[threadIdx.x * 32 + i] = two[i];
  }
}
// The rate of wgmma with one operand in registers: 8 of 64x64x16 at once, then
// waited for.
__global__ void __launch_bounds__(128, 1)
    Rate(const uint4* a, const uint4* b, int rounds, float* sums,
         long long* clocks) {
  extern __shared__ __align__(128) char memory[];
  uint4* shared = reinterpret_cast<uint4*>(memory);
  for (int i = threadIdx.x; i < 8 * 128; i += 128) shared[i] = b[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const uint4 own = a[threadIdx.x];
  const uint32_t at = Shared(memory);
  float c[32] = {};
  const long long start = clock64();
  for (int r = 0; r < rounds; ++r) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int t = 0; t < 8; ++t) Wgmma(c, own, Descriptor(at + t * 2048));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  if (threadIdx.x == 0) *clocks = clock64() - start;
#pragma unroll
  for (int i = 0; i < 32; ++i) sums[threadIdx.x * 32 + i] = c[i];
}
// Numbers of both matrices, and how they are made.
struct Sample {
  const char* name;
  int least, most;  // powers of two that normal numbers are multiplied by
  bool with_zeros;  // every eighth number
  bool opposed;     // every second column is 0 in a and large in b
};
}  // namespace

void CompareBits() {
  const int tiles = 32, columns = tiles * 16;
  const std::size_t size = 64 * columns;
  uint4 *on_a = Zeros<uint4>(size * 2), *on_b = Zeros<uint4>(size * 2);
  float *one = Zeros<float>(16384), *two = Zeros<float>(16384);
  long long* clocks = Zeros<long long>(8);
  BANYAN_MUST(cudaFuncSetAttribute(
      Bits, cudaFuncAttributeMaxDynamicSharedMemorySize, tiles * 2048));
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const auto cut = [](float x) {
    return static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16);
  };
  for (const Sample& sample :
       {Sample{"ordinary", -6, 6, false, false},
        Sample{"of all sizes", -30, 30, true, false},
        Sample{"below the normal", -75, -55, true, false},
        Sample{"zeros beside large", -60, -60, false, true}}) {
    std::vector<uint16_t> a(size), b(size);  // rows of `columns`
    for (auto* of : {&a, &b})
      for (uint16_t& x : *of) {
        const int power =
            sample.least +
            static_cast<int>(random() % static_cast<unsigned>(
                                            sample.most - sample.least + 1));
        x = sample.with_zeros && random() % 8 == 0
                ? 0
                : cut(normal(random) * std::ldexp(1.0F, power));
      }
    for (std::size_t i = 0; sample.opposed && i < size; i += 2)
      a[i] = 0, b[i] = cut(std::ldexp(1.5F, 100));
    std::vector<uint16_t> packed_a(size), packed_b(size);
    for (int row = 0; row < 64; ++row)
      for (int k = 0; k < columns; ++k) {
        const int t = k / 16, c = k % 16;
        const int lane = row % 8 * 4 + c % 8 / 2,
                  word = row % 16 / 8 + 2 * (c / 8);
        packed_a[static_cast<size_t>(((t * 4 + row / 16) * 32 + lane) * 8 +
                                     word * 2 + c % 2)] =
            a[static_cast<size_t>(row * columns + k)];
        packed_b[static_cast<size_t>(t * 1024 + c / 8 * 512 + row * 8 +
                                     c % 8)] =
            b[static_cast<size_t>(row * columns + k)];
      }
    BANYAN_MUST(
        cudaMemcpy(on_a, packed_a.data(), size * 2, cudaMemcpyHostToDevice));
    BANYAN_MUST(
        cudaMemcpy(on_b, packed_b.data(), size * 2, cudaMemcpyHostToDevice));
    BANYAN_MUST(cudaMemset(one, 0xff, 16384));  // NaN, of which no sum is equal
    BANYAN_MUST(cudaMemset(two, 0xee, 16384));
    Bits<<<1, 128, tiles * 2048>>>(on_a, on_b, tiles, one, two);
    BANYAN_MUST(cudaGetLastError());
    BANYAN_MUST(cudaDeviceSynchronize());
    std::vector<float> by_mma(4096), by_wgmma(4096);
    BANYAN_MUST(cudaMemcpy(by_mma.data(), one, 16384, cudaMemcpyDeviceToHost));
    BANYAN_MUST(
        cudaMemcpy(by_wgmma.data(), two, 16384, cudaMemcpyDeviceToHost));
    const std::vector<float> model = ModelSums(a, b, columns);
    const std::vector<float> with_zeros = SumsIfZerosCount(a, b, columns);
    int apart = 0, other = 0, other_kept = 0;
    for (int thread = 0; thread < 128; ++thread)
      for (int i = 0; i < 32; ++i) {
        const size_t at = static_cast<size_t>(thread * 32 + i);
        const int row = thread / 32 * 16 + thread % 32 / 4 + i % 4 / 2 * 8,
                  column = i / 4 * 8 + thread % 4 * 2 + i % 2;
        const size_t place = static_cast<size_t>(row * kSide + column);
        const auto differs = [&](float x) {
          return std::bit_cast<uint32_t>(by_mma[at]) !=
                 std::bit_cast<uint32_t>(x);
        };
        apart += differs(by_wgmma[at]);
        other += differs(model[place]);
        other_kept += differs(with_zeros[place]);
      }
    std::printf(
        "bits of 4096 sums of %d, %s: mma.sync and wgmma differ in %d, "
        "mma.sync and the model in %d (with zeros' partners in %d)\n",
        columns, sample.name, apart, other, other_kept);
  }
  const auto wgmma_clocks = [&](int times) {
    Rate<<<1, 128, 8 * 2048>>>(on_a, on_b, times, one, clocks);
    BANYAN_MUST(cudaGetLastError());
    BANYAN_MUST(cudaDeviceSynchronize());
    long long n = 0;
    BANYAN_MUST(cudaMemcpy(&n, clocks, 8, cudaMemcpyDeviceToHost));
    return n;
  };
  wgmma_clocks(10);
  const long long few = wgmma_clocks(10);
  std::printf(
      "wgmma 64x64x16 from registers, eight at once: %.1f clocks each\n",
      static_cast<double>(wgmma_clocks(1010) - few) / 8000);
}

}  // namespace banyan::probe
