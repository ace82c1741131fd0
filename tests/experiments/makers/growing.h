// Grown models for tests.
#ifndef BANYAN_TESTS_EXPERIMENTS_TOOLS_GROWING_H_
#define BANYAN_TESTS_EXPERIMENTS_TOOLS_GROWING_H_

#include <cstdint>
#include <memory>
#include <string>

#include "core/checkpoint/checkpoint.h"
#include "core/ops/backend.h"
#include "core/ops/weight.h"
#include "core/transformer/transformer.h"
#include "experiments/makers/grow/grow_model.h"
#include "experiments/makers/grow/model_size.h"
#include "tests/core/checkpoint/files.h"

namespace banyan {

std::unique_ptr<Checkpoint> MustOpen(const std::string& directory);

std::unique_ptr<Transformer> MustLoad(const std::string& directory,
                                      std::shared_ptr<Backend> backend,
                                      WeightFormat format = WeightFormat::kF32);

// A model grown into a folder that goes with this. Ends the program if it
// cannot be.
class Grown {
 public:
  Grown(const std::string& directory, const SizeWish& wish,
        const WriteOptions& options = {});

  std::string path() const { return folder_.path() + "/grown"; }
  const GrownModel& report() const { return report_; }
  // "grown/NAME" of the folder.
  std::string Read(const std::string& name) const {
    return folder_.Read("grown/" + name);
  }

 private:
  TestFolder folder_;
  GrownModel report_;
};

}  // namespace banyan

#endif  // BANYAN_TESTS_EXPERIMENTS_TOOLS_GROWING_H_
