// The committed text of one sequence: what every step of a round may read.
#ifndef BANYAN_CORE_MODEL_CONTEXT_H_
#define BANYAN_CORE_MODEL_CONTEXT_H_

#include <cstdint>
#include <vector>

#include "core/base/token.h"
#include "core/model/features.h"

namespace banyan {

class Scores;  // core/model/model.h

struct Context {
  // Prompt and everything emitted so far; never empty. The last one is the root
  // of the next draft tree: emitted, but not yet fed to the target.
  std::vector<TokenId> tokens;
  int prompt_length = 0;
  std::uint32_t prompt = 0;  // which prompt, which round: both key the chance
  std::uint32_t round = 0;
  // What the drafters asked for (DrafterTraits::taps), of the tokens that were
  // committed last: the prompt's in Begin, a round's kept path in Observe. The
  // last row is that of the token before the root.
  Features features = {};
  // In Observe, for drafters that ask (DrafterTraits::reads_scores): what the
  // target said of the round's tree, a row a node. Null elsewhere.
  const Scores* scored = nullptr;

  TokenId root() const { return tokens.back(); }
  int emitted() const {
    return static_cast<int>(tokens.size()) - prompt_length;
  }
};

}  // namespace banyan

#endif  // BANYAN_CORE_MODEL_CONTEXT_H_
