// The heads of Medusa: laws of tokens further ahead from one hidden state.
#ifndef BANYAN_CORE_MODEL_MEDUSA_HEADS_H_
#define BANYAN_CORE_MODEL_MEDUSA_HEADS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/model/medusa_file.h"
#include "core/model/transformer.h"
#include "core/model/transformer_weights.h"
#include "core/ops/tensor.h"
#include "core/ops/weight.h"

namespace banyan {

// Immutable; safe for concurrent use.
class MedusaHeads {
 public:
  // The heads of `directory` (medusa_file.h), kept as `format`. The target
  // outlives them. Fails as MedusaFile::Open does, or if there is no memory.
  static absl::StatusOr<std::unique_ptr<MedusaHeads>> Load(
      const std::string& directory, const Transformer& target,
      WeightFormat format);

  int count() const { return static_cast<int>(heads_.size()); }

  // `hidden` is the target's hidden state after the final norm at some token.
  // logits[i] becomes head i's for the token i + 2 places on: one number per
  // token of the vocabulary, -infinity where the target never emits one.
  absl::Status Score(absl::Span<const float> hidden,
                     std::vector<std::vector<double>>& logits) const;

 private:
  struct Block {
    std::unique_ptr<Weight> weight;
    RowVector bias;
  };
  struct Head {
    std::vector<Block> blocks;
    std::unique_ptr<Weight> own_output;  // null: the target's
  };

  explicit MedusaHeads(const Transformer& target) : target_(target) {}

  absl::Status LoadHead(const MedusaFile& file, int number,
                        WeightFormat format);
  // x = x + SiLU(W x + b) for every block of a head.
  absl::Status RunBlocks(const Head& head, const Tensor& x, const Tensor& y,
                         std::vector<float>& state) const;

  const Transformer& target_;
  std::vector<Head> heads_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_MODEL_MEDUSA_HEADS_H_
