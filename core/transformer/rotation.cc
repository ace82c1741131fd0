#include "core/transformer/rotation.h"

#include <cmath>
#include <cstddef>
#include <numbers>

#include "core/checkpoint/architecture.h"

namespace banyan {
namespace {

// Llama 3's rule: long waves are stretched by `factor`, short ones kept, and
// those between blended.
double ScaleLlama3(const Rope& rope, double frequency) {
  const double wavelength = 2 * std::numbers::pi / frequency;
  const double turns = rope.original_context / wavelength;
  if (turns > rope.high_frequency_factor) return frequency;
  if (turns < rope.low_frequency_factor) return frequency / rope.factor;
  const double blend = (turns - rope.low_frequency_factor) /
                       (rope.high_frequency_factor - rope.low_frequency_factor);
  return frequency * ((1 - blend) / rope.factor + blend);
}

}  // namespace

Rotation::Rotation(const Rope& rope, int head_dim) {
  for (int i = 0; i < head_dim / 2; ++i) {
    double frequency =
        std::pow(rope.theta, -2.0 * i / static_cast<double>(head_dim));
    if (rope.scaling == Rope::Scaling::kLinear) frequency /= rope.factor;
    if (rope.scaling == Rope::Scaling::kLlama3)
      frequency = ScaleLlama3(rope, frequency);
    frequencies_.push_back(static_cast<float>(frequency));
  }
}

void Rotation::Write(int position, float* out) const {
  const std::size_t half = frequencies_.size();
  for (std::size_t i = 0; i < half; ++i) {
    const float angle = static_cast<float>(position) * frequencies_[i];
    out[i] = static_cast<float>(std::cos(double{angle}));
    out[half + i] = static_cast<float>(std::sin(double{angle}));
  }
}

}  // namespace banyan
