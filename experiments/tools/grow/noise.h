// Noise: numbers for weights that nothing depends on, so that they cost what a
// trained model's do.
//
// Not a choice of any algorithm, so no RandomSource makes it: a whole model of
// it must be written in seconds.
#ifndef BANYAN_EXPERIMENTS_TOOLS_GROW_NOISE_H_
#define BANYAN_EXPERIMENTS_TOOLS_GROW_NOISE_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "core/base/dtype.h"

namespace banyan {

// Every row of every tensor has numbers of its own, which its seed, the
// tensor's name and the row alone decide. All of them are bfloat16 numbers, the
// same in every type they are stored as: F32, F16 or BF16.
class Noise {
 public:
  // The key of a tensor under a seed.
  static std::uint64_t Key(std::uint64_t seed, absl::string_view tensor);
  Noise(std::uint64_t key, std::int64_t row);

  // Writes the next `count` weights: spread around zero with standard
  // deviation 0.032 and magnitudes from 1/128 to 1/8.
  void Weights(DType dtype, int count, std::byte* out);
  // A norm's weight, from 1 to 1.12.
  double Gain();

 private:
  std::uint64_t Next();

  std::uint64_t state_;
};

// Writes `number`, which is one of that type exactly, as F32, F16 or BF16; F16
// takes no number smaller than 2^-14 but zero.
void StoreExactly(float number, DType dtype, std::byte* out);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_TOOLS_GROW_NOISE_H_
