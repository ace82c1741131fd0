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

// Hidden 96, 6 heads of 16, 3 of keys and values, feed-forward 136, 301 tokens.
// The same number gives the same layer.
struct MadeModelOptions {
  std::vector<int> layers = {0, 1};
  int context_limit = 720;
};

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
