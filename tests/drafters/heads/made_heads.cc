#include "tests/drafters/heads/made_heads.h"

#include <cmath>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/dice.h"

namespace banyan {
namespace {

constexpr int kBlocks = 2;

std::vector<float> Random(std::size_t count, Dice& dice) {
  std::vector<float> numbers(count);
  for (float& number : numbers) number = dice.Signed();
  return numbers;
}

}  // namespace

MadeHeads MakeHeads(const Transformer& target) {
  const auto h = static_cast<std::size_t>(target.hidden_size());
  const auto v = static_cast<std::size_t>(target.vocab_size());
  Dice dice(3);
  MadeHeads made = {.tensors = {}, .hidden = Random(h, dice), .expected = {}};
  for (int head = 0; head < kMadeHeads; ++head) {
    std::vector<double> x(made.hidden.begin(), made.hidden.end());
    for (int block = 0; block < kBlocks; ++block) {
      const auto weight = Random(h * h, dice);
      const auto bias = Random(h, dice);
      const std::string name = absl::StrCat(head, ".", block, ".linear.");
      made.tensors[name + "weight"] = {
          "F32", {target.hidden_size(), target.hidden_size()}, Stored(weight)};
      made.tensors[name + "bias"] = {
          "F32", {target.hidden_size()}, Stored(bias)};
      std::vector<double> y(bias.begin(), bias.end());
      for (std::size_t i = 0; i < h; ++i)
        for (std::size_t k = 0; k < h; ++k) y[i] += weight[i * h + k] * x[k];
      for (std::size_t i = 0; i < h; ++i) x[i] += y[i] / (1 + std::exp(-y[i]));
    }
    const auto output = Random(v * h, dice);
    made.tensors[absl::StrCat(head, ".", kBlocks, ".weight")] = {
        "F32", {target.vocab_size(), target.hidden_size()}, Stored(output)};
    std::vector<double> logits(v);
    for (std::size_t i = 0; i < v; ++i)
      for (std::size_t k = 0; k < h; ++k) logits[i] += output[i * h + k] * x[k];
    made.expected.push_back(logits);
  }
  return made;
}

void WriteHeads(const MadeTensors& tensors, const TestFolder& folder) {
  folder.Write("model.safetensors", SafetensorsFile(tensors));
  folder.Write("config.json",
               absl::StrCat("{\"medusa_num_heads\": ", kMadeHeads,
                            ", \"medusa_num_layers\": ", kBlocks, "}"));
}

}  // namespace banyan
