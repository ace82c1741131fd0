// What the model of tensor cores (core/device/cuda/tensor_core.h) adds up.
#ifndef BANYAN_TESTS_GPU_PROBE_MODEL_H_
#define BANYAN_TESTS_GPU_PROBE_MODEL_H_

#include <cstdint>
#include <vector>

namespace banyan::probe {

constexpr int kSide = 64;

// Returns the kSide by kSide sums of products of rows of a and rows of b, of
// `columns` bfloat16s each, sixteen at a time, as capability 9.0 adds them.
std::vector<float> ModelSums(const std::vector<std::uint16_t>& a,
                             const std::vector<std::uint16_t>& b, int columns);

// Returns the same if a product with a zero had the exponent of its other
// factor, as one published simulator has it, and not none.
std::vector<float> SumsIfZerosCount(const std::vector<std::uint16_t>& a,
                                    const std::vector<std::uint16_t>& b,
                                    int columns);

}  // namespace banyan::probe

#endif  // BANYAN_TESTS_GPU_PROBE_MODEL_H_
