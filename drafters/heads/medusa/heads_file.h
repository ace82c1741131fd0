// Medusa heads as published: the tensors of a heads' directory.
//
// Head i guesses the token i + 2 places on from the target's hidden state after
// the final norm. It has blocks j = 0 .. L - 1, x + SiLU(W x + b), of
// `i.j.linear.weight` [h, h] and `i.j.linear.bias` [h], and then the output
// matrix `i.L.weight` [V, h]; without that, it shares the target's. How many
// heads and blocks there are the tensors' names say, and config.json, which
// published heads have with other numbers, must agree.
#ifndef BANYAN_DRAFTERS_HEADS_MEDUSA_HEADS_FILE_H_
#define BANYAN_DRAFTERS_HEADS_MEDUSA_HEADS_FILE_H_

#include <memory>
#include <string>
#include <utility>

#include "core/base/common.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/checkpoint/tensor_file.h"
#include "core/checkpoint/weight_rows.h"

namespace banyan {

class MedusaFile {
 public:
  // Opens DIRECTORY/model.safetensors or, without that,
  // DIRECTORY/medusa_lm_head.safetensors, and DIRECTORY/config.json. Fails with
  // NotFound if one is not there (a pickle in the place of the first is named,
  // with the command that converts it), and with InvalidArgument, which names
  // file and tensor or key, unless the tensors are the heads of a target of
  // this hidden size and vocabulary, every one and nothing else, as F32, F16 or
  // BF16, and what config.json says of their numbers and sizes is so.
  static absl::StatusOr<std::unique_ptr<MedusaFile>> Open(
      const std::string& directory, int hidden_size, int vocab_size);

  int heads() const { return heads_; }
  int blocks() const { return blocks_; }  // of each head
  // Each head has an output matrix of its own.
  bool own_outputs() const { return own_outputs_; }

  WeightSource Linear(int head, int block) const;
  WeightSource Bias(int head, int block) const;
  WeightSource Output(int head) const;

  // The stored tensor of one of those.
  const StoredTensor& Tensor(const WeightSource& source) const;
  // Rows of it as f32 to `out` (core/checkpoint/weight_rows.h).
  // InvalidArgument, which names file, tensor and place, if a number is not
  // finite.
  absl::Status ReadRows(const WeightSource& source, const RowRange& rows,
                        float* out) const;
  // Where the tensors lie.
  const std::shared_ptr<const TensorFile>& file() const { return file_; }

 private:
  MedusaFile(std::shared_ptr<const TensorFile> file, int hidden_size,
             int vocab_size)
      : file_(std::move(file)),
        hidden_size_(hidden_size),
        vocab_size_(vocab_size) {}

  absl::Status Error(absl::string_view tensor, absl::string_view what) const;
  absl::Status Count();
  absl::Status CheckTensors() const;
  absl::Status CheckConfig(const std::string& path) const;
  absl::Status CheckTensor(const WeightSource& source) const;

  std::shared_ptr<const TensorFile> file_;
  int hidden_size_;
  int vocab_size_;
  int heads_ = 0;
  int blocks_ = 0;
  bool own_outputs_ = false;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_MEDUSA_HEADS_FILE_H_
