// Medusa heads grown with their target: the same proposals from the larger
// hidden state.
//
// Their input is the target's hidden state after the final norm, whose new
// coordinates are zero in a grown model. The blocks keep them so: their new
// rows and biases are zero. Columns over them are noise.
#ifndef BANYAN_EXPERIMENTS_GROW_GROW_HEADS_H_
#define BANYAN_EXPERIMENTS_GROW_GROW_HEADS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "experiments/grow/output_folder.h"
#include "experiments/grow/write_tensors.h"

namespace banyan {

struct HeadsGrowth {
  int hidden = 0;      // of the target they were trained on
  int new_hidden = 0;  // of the grown one
  int vocab = 0;
};

struct GrownHeads {
  int heads = 0;
  int blocks = 0;             // of each head
  bool own_matrices = false;  // each has an output matrix of its own
  std::int64_t bytes = 0;
};

// Reads `from`/config.json and the heads (core/model/medusa_file.h), and writes
// to `folder` config.json with the new `hidden_size`, if it has one, and
// `grown_from`, and model.safetensors. Fails as MedusaFile::Open, OutputFolder
// and SafetensorsWriter do.
absl::StatusOr<GrownHeads> GrowHeads(const std::string& from,
                                     const HeadsGrowth& growth,
                                     const WriteOptions& options,
                                     OutputFolder& folder);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_GROW_GROW_HEADS_H_
