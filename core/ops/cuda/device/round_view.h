// A round as its kernels see it.
#ifndef BANYAN_CORE_OPS_CUDA_DEVICE_ROUND_VIEW_H_
#define BANYAN_CORE_OPS_CUDA_DEVICE_ROUND_VIEW_H_

#include <cstdint>

#include "core/base/draw_math.h"
#include "core/base/keyed_uniform.h"
#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/device/round_layout.h"
#include "core/ops/cuda/kernels/round_kernels.h"

namespace banyan::BANYAN_MAKER {

struct RoundView {
  RoundView(CudaDevice& device, const RoundSpans& round)
      : at(round.layout),
        integers(device, round.integers),
        doubles(device, round.doubles),
        seed(round.seed) {}

  // Entry i of the list that begins at `list`.
  BANYAN_DEVICE int Get(int list, int i) const {
    return integers.Read(std::int64_t{list} + i);
  }
  BANYAN_DEVICE void Set(int list, int i, int value) const {
    integers.Write(std::int64_t{list} + i, value);
  }
  BANYAN_DEVICE int State(RoundState state) const { return Get(0, state); }
  BANYAN_DEVICE void SetState(RoundState state, int value) const {
    Set(0, state, value);
  }
  BANYAN_DEVICE double Number(int list, int i) const {
    return doubles.Read(std::int64_t{list} + i);
  }
  BANYAN_DEVICE void SetNumber(int list, int i, double value) const {
    doubles.Write(std::int64_t{list} + i, value);
  }
  // The uniform number of a choice of this round.
  BANYAN_DEVICE double Uniform(Purpose purpose, int node, int draw) const {
    return UniformOf(seed, WordsOf(static_cast<std::uint32_t>(State(kPrompt)),
                                   static_cast<std::uint32_t>(State(kRound)),
                                   static_cast<std::uint32_t>(node),
                                   static_cast<std::uint32_t>(draw), 0,
                                   static_cast<std::uint8_t>(purpose)));
  }
  // Bit `bit` of row `row` of a list of words.
  BANYAN_DEVICE void SetBit(int list, int words, int row, int bit) const {
    const int word = row * words + bit / 32;
    Set(list, word,
        static_cast<std::int32_t>(static_cast<std::uint32_t>(Get(list, word)) |
                                  (std::uint32_t{1} << (bit % 32))));
  }

  RoundLayout at;
  Global<std::int32_t> integers;
  Global<double> doubles;
  std::uint64_t seed;
};

}  // namespace banyan::BANYAN_MAKER

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_ROUND_VIEW_H_
