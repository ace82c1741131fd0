// The tiny checkpoints of tests/goldens/checkpoints and the models that ship,
// opened and loaded, and what other implementations make of them.
#ifndef BANYAN_TESTS_SUPPORT_MADE_GOLDEN_MODEL_H_
#define BANYAN_TESTS_SUPPORT_MADE_GOLDEN_MODEL_H_

#include <memory>
#include <string>
#include <vector>

#include "core/base/token.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/weight.h"
#include "core/transformer/transformer.h"

namespace banyan {

// Their names: a folder each.
const std::vector<std::string>& GoldenNames();

// What the other implementation computed (checkpoints.py).
struct GoldenNumbers {
  std::vector<TokenId> ids;
  std::vector<std::vector<double>> logits32;  // by token
  std::vector<std::vector<double>> logits64;
  std::vector<std::vector<std::vector<double>>> hidden64;  // place, token
};
GoldenNumbers ReadGolden(const std::string& name);
// Of a file like it; without hidden states.
GoldenNumbers ReadGoldenLogits(const std::string& path);

// The checkpoint's directory, below the project's root.
std::string GoldenFolder(const std::string& name);

// The model. Ends the program if it cannot be loaded.
std::unique_ptr<Transformer> LoadGolden(
    const std::string& name, std::shared_ptr<Backend> backend,
    WeightFormat format = WeightFormat::kF32);

// What PyTorch made of a prompt with one of models/ (shipped.py).
struct ShippedGolden {
  std::vector<TokenId> ids;
  // Logits: of a model after its last tokens, of Medusa heads a row a head.
  std::vector<std::vector<double>> rows;
};
std::vector<ShippedGolden> ReadShippedGoldens(const std::string& name);

// The model in `directory`. Ends the program if it cannot be loaded.
std::unique_ptr<Transformer> LoadModel(
    const std::string& directory, std::shared_ptr<Backend> backend,
    WeightFormat format = WeightFormat::kF32);

// A batch that continues a session's prefix as a chain.
TokenBatch ChainAfter(const Session& session,
                      const std::vector<TokenId>& tokens);

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_MADE_GOLDEN_MODEL_H_
