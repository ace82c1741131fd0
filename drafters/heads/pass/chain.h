// What stands in the place of the tokens to come, link by link, so that the
// target guesses what follows them.
#ifndef BANYAN_DRAFTERS_HEADS_PASS_CHAIN_H_
#define BANYAN_DRAFTERS_HEADS_PASS_CHAIN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/token.h"
#include "core/model/model.h"

namespace banyan {

struct LookaheadLink {
  TokenId token =
      0;  // names the row of a vector, and is what one without reads
  std::shared_ptr<const std::vector<float>> vector = nullptr;
};
using LookaheadChain = std::vector<LookaheadLink>;

// The trained vectors in a folder: the tensor `lookahead.embeddings`
// [L, hidden_size] of model.safetensors, with the sizes of the target that they
// were trained for in config.json. NotFound if a file is not there;
// InvalidArgument, which names file and key or tensor, if they are for a target
// of other sizes than this one, or are not finite.
absl::StatusOr<std::unique_ptr<const LookaheadChain>> LoadLookaheadChain(
    const std::string& folder, const Model& target);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_PASS_CHAIN_H_
