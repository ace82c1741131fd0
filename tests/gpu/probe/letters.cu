// How long multiprocessors take to tell each other something: by letters, by a
// barrier of all, and by a launch.
#include <cstdint>
#include <cstdio>

#include "tests/gpu/probe/probe-inl.h"

namespace banyan::probe {
namespace {

// Letters: a 64-bit word of 32 bits and the round's number. In a round every
// block posts its share of `count` and waits for all of them. `first`: a warp
// waits for one letter of each of 32 posters before all threads look. With a
// `background` a ninth warp reads memory meanwhile as fast as it comes, a
// `part` of it a block; nobody waits for that.
constexpr int kStreamStages = 12, kStreamBytes = 4096;
__global__ void __launch_bounds__(kThreads + 32, 1)
    Letters(uint64_t* box, int count, int rounds, bool first,
            const char* background, long long part,
            unsigned long long* streamed) {
  extern __shared__ __align__(128) char memory[];
  __shared__ uint64_t bars[kStreamStages];
  __shared__ int done;
  volatile int* const ended = &done;
  if (threadIdx.x == 0) {
    *ended = 0;
    for (uint64_t& bar : bars)
      asm volatile(
          "mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(Shared(&bar)));
  }
  asm volatile("fence.mbarrier_init.release.cluster;");
  __syncthreads();
  const int blocks = gridDim.x, b = blockIdx.x;
  if (threadIdx.x >= kThreads) {
    if (background == nullptr || threadIdx.x > kThreads) return;
    long long asked = 0;
    int at = 0;
    uint32_t parity = 0;
    const auto ask = [&] {
      Copy(Shared(memory + at * kStreamBytes),
           background + b * part + asked % part, kStreamBytes,
           Shared(bars + at), true);
      asked += kStreamBytes;
    };
    const auto next = [&] {
      if (++at == kStreamStages) at = 0, parity ^= 1;
    };
    for (at = 0; at < kStreamStages; ++at) ask();
    at = 0;
    while (*ended == 0) {
      Await(Shared(bars + at), parity);
      ask();
      next();
    }
    for (int i = 0; i < kStreamStages;
         ++i) {  // a block may not end before its copies
      Await(Shared(bars + at), parity);
      next();
    }
    atomicAdd(streamed, static_cast<unsigned long long>(asked));
    return;
  }
  const auto sync = [] {
    asm volatile("bar.sync 1, %0;" ::"n"(kThreads) : "memory");
  };
  const int begin =
                static_cast<int>(static_cast<long long>(b) * count / blocks),
            end = static_cast<int>(static_cast<long long>(b + 1) * count /
                                   blocks);
  uint32_t sum = 1;
  for (int r = 1; r <= rounds; ++r) {
    uint64_t* to = box + (r & 1) * count;
    for (int i = begin + threadIdx.x; i < end; i += kThreads)
      asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to + i),
                   "l"((static_cast<uint64_t>(r) << 32) | (sum & 0xffff))
                   : "memory");
    const long long since = clock64();
    const auto read = [&](int i) {
      uint64_t v;
      do {
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];"
                     : "=l"(v)
                     : "l"(to + i)
                     : "memory");
        Watch(since);
      } while (v >> 32 != static_cast<uint64_t>(r));
      return static_cast<uint32_t>(v);
    };
    if (first) {
      if (threadIdx.x < 32)
        sum += read(static_cast<int>(
            (static_cast<long long>(threadIdx.x) * count + count - 1) / 32));
      sync();
    }
    for (int i = threadIdx.x; i < count; i += kThreads) sum += read(i);
    sync();
  }
  if (threadIdx.x == 0) *ended = 1;
  if (sum == 0) box[0] = 0;
}
// A barrier of all blocks: release, a counter, acquire.
__global__ void __launch_bounds__(kThreads, 1)
    Barriers(unsigned* counter, int rounds) {
  for (unsigned r = 1; r <= static_cast<unsigned>(rounds); ++r) {
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter)
                   : "memory");
      unsigned seen;
      const long long since = clock64();
      do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                     : "=r"(seen)
                     : "l"(counter)
                     : "memory");
        Watch(since);
      } while (seen < r * gridDim.x);
    }
    __syncthreads();
  }
}
// A kernel that reads what the one before it wrote. `early`: it is set up while
// that one runs, and waits for it.
__global__ void Link(uint32_t* words, bool early) {
  if (early) {
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
  }
  if (threadIdx.x == 0) words[blockIdx.x] += 1;
}
}  // namespace

void MeasureLetters() {
  const int sms = Multiprocessors(), rounds = 2000;
  uint32_t* odd = Zeros<uint32_t>(4);
  char* buffer = Buffer(odd);
  unsigned* counter = Zeros<unsigned>(4);
  unsigned long long* streamed = Zeros<unsigned long long>(8);
  const long long boxes = 2 * 8192 * 8;
  uint64_t* box = Zeros<uint64_t>(boxes);
  const long long part = kBuffer / sms / kStreamBytes * kStreamBytes;
  for (int count : {288, 1024, 2816, 8192})
    for (bool first : {false, true})
      for (bool loaded : {false, true}) {
        const double ms = Milliseconds(5, [&] {
          BANYAN_MUST(cudaMemsetAsync(box, 0, boxes));
          BANYAN_MUST(cudaMemsetAsync(streamed, 0, 8));
          Together(Letters, sms, kThreads + 32, kStreamStages * kStreamBytes,
                   box, count, rounds, first, loaded ? buffer : nullptr, part,
                   streamed);
        });
        unsigned long long bytes = 0;
        BANYAN_MUST(cudaMemcpy(&bytes, streamed, 8, cudaMemcpyDeviceToHost));
        std::printf("letters, %5d to all%s: %.3f us a round", count,
                    first ? ", one warp first" : "", ms * 1e3 / rounds);
        if (loaded) std::printf(", beside %.0f GB/s", bytes / ms / 1e6);
        std::printf("\n");
      }
  const double barrier = Milliseconds(5, [&] {
    BANYAN_MUST(cudaMemsetAsync(counter, 0, 4));
    Together(Barriers, sms, kThreads, 0, counter, rounds);
  });
  std::printf("barrier of all blocks: %.3f us\n", barrier * 1e3 / rounds);
}

void MeasureLaunches() {
  const int sms = Multiprocessors(), links = 200;
  uint32_t* words = Zeros<uint32_t>(sms * 4);
  unsigned* counter = Zeros<unsigned>(4);
  const double together = Milliseconds(9, [&] {
    for (int i = 0; i < links; ++i)
      Together(Barriers, sms, kThreads, 0, counter, 0);
  });
  std::printf("a cooperative launch, one after the other: %.2f us\n",
              together * 1e3 / links);
  for (bool early : {false, true}) {
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = sms;
    config.blockDim = kThreads;
    config.attrs = &attribute;
    config.numAttrs = early ? 1 : 0;
    BANYAN_MUST(cudaStreamCreate(&config.stream));
    BANYAN_MUST(cudaStreamBeginCapture(config.stream,
                                       cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < links; ++i)
      BANYAN_MUST(cudaLaunchKernelEx(&config, Link, words, early));
    cudaGraph_t graph;
    BANYAN_MUST(cudaStreamEndCapture(config.stream, &graph));
    cudaGraphExec_t all;
    BANYAN_MUST(cudaGraphInstantiate(&all, graph, 0));
    const double ms =
        Milliseconds(9, [&] { BANYAN_MUST(cudaGraphLaunch(all, nullptr)); });
    std::printf(
        "a kernel of a graph that reads the last one's word%s: %.2f us\n",
        early ? ", set up early" : "", ms * 1e3 / links);
  }
}

}  // namespace banyan::probe
