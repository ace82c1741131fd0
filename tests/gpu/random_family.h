// Models of any family with random weights, made from their config.json.
#ifndef BANYAN_TESTS_GPU_RANDOM_FAMILY_H_
#define BANYAN_TESTS_GPU_RANDOM_FAMILY_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/core/checkpoint/files.h"

namespace banyan {

// The families that a random model is made of: gpt2 (layer norms, learnt
// positions), mistral (a window), qwen2 (biases) and qwen3 (norms of heads).
const std::vector<std::string>& RandomFamilies();

// Returns a new folder with the family's random model, the same at every call.
// A failure ends the program.
std::unique_ptr<TestFolder> MakeRandomModel(const std::string& family,
                                            int layers = 2);

}  // namespace banyan

#endif  // BANYAN_TESTS_GPU_RANDOM_FAMILY_H_
