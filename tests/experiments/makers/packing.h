// Packed models for tests, and what is computed with them.
#ifndef BANYAN_TESTS_EXPERIMENTS_TOOLS_PACKING_H_
#define BANYAN_TESTS_EXPERIMENTS_TOOLS_PACKING_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/weight_format.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/devices.h"
#include "core/transformer/transformer.h"
#include "experiments/makers/pack_model.h"
#include "tests/core/checkpoint/files.h"

namespace banyan {

std::shared_ptr<Backend> Cpu(const DeviceOptions& options = {});

absl::StatusOr<PackedModel> PackTo(const std::string& model,
                                   const PackOptions& options,
                                   const std::string& path);

// A model packed into a folder that goes with this.
class Packed {
 public:
  // Of a golden, or of the directory of a model.
  Packed(const std::string& model, WeightFormat format);
  std::string path() const { return folder_.path() + "/model.pack"; }
  std::string Read() const { return folder_.Read("model.pack"); }
  void Write(const std::string& bytes) const {
    folder_.Write("model.pack", bytes);
  }

 private:
  TestFolder folder_;
};

absl::StatusOr<std::unique_ptr<Transformer>> Load(
    const std::string& path, const TransformerOptions& options,
    std::shared_ptr<Backend> backend = Cpu());

// The logits of a prompt, of a chain after it, and of a chain after that.
absl::StatusOr<std::vector<std::vector<double>>> LogitsOfTexts(
    const Model& model);

std::size_t LeastMemory(const std::string& path);

}  // namespace banyan

#endif  // BANYAN_TESTS_EXPERIMENTS_TOOLS_PACKING_H_
