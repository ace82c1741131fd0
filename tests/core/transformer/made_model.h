// A llama made up for a test, larger and longer than the goldens.
#ifndef BANYAN_TESTS_CORE_TRANSFORMER_MADE_MODEL_H_
#define BANYAN_TESTS_CORE_TRANSFORMER_MADE_MODEL_H_

#include <memory>
#include <string>
#include <vector>

#include "core/ops/backend.h"
#include "core/ops/weight.h"
#include "core/transformer/transformer.h"
#include "tests/core/checkpoint/files.h"

namespace banyan {

// Heads are of 16, and the hidden size is that of all of them. The same number
// gives the same layer.
struct MadeModelOptions {
  std::vector<int> layers = {0, 1};
  int context_limit = 720;
  int heads = 6;
  int kv_heads = 3;
  int feed_forward = 136;
  int vocab = 301;
  // Whether a token's likeliest successor is mostly the one of its cycle,
  // whatever the layers: so that such models agree at times.
  bool cyclic = false;
};

// A matrix that finds in a token's embedding the one `steps` on in its cycle.
std::vector<float> CyclicHead(const MadeModelOptions& options, int steps);

class MadeModel {
 public:
  explicit MadeModel(const MadeModelOptions& options);
  const std::string& path() const { return folder_.path(); }
  // Ends the program if it cannot be loaded.
  std::unique_ptr<Transformer> Load(
      std::shared_ptr<Backend> backend,
      WeightFormat format = WeightFormat::kF32) const;

 private:
  TestFolder folder_;
};

}  // namespace banyan

#endif  // BANYAN_TESTS_CORE_TRANSFORMER_MADE_MODEL_H_
