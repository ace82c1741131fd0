// Medusa heads made up for a test, and plain loops over them.
#ifndef BANYAN_TESTS_DRAFTERS_HEADS_MADE_HEADS_H_
#define BANYAN_TESTS_DRAFTERS_HEADS_MADE_HEADS_H_

#include <vector>

#include "core/transformer/transformer.h"
#include "tests/core/checkpoint/files.h"

namespace banyan {

inline constexpr int kMadeHeads = 2;

// Heads for a target, and what they must say after one hidden state.
struct MadeHeads {
  MadeTensors tensors;  // of model.safetensors
  std::vector<float> hidden;
  std::vector<std::vector<double>> expected;  // logits by head
};

MadeHeads MakeHeads(const Transformer& target);

// Makes `folder` a directory of these heads.
void WriteHeads(const MadeTensors& tensors, const TestFolder& folder);

}  // namespace banyan

#endif  // BANYAN_TESTS_DRAFTERS_HEADS_MADE_HEADS_H_
