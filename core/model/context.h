// The committed text of one sequence: what every step of a round may read.
#ifndef BANYAN_CORE_MODEL_CONTEXT_H_
#define BANYAN_CORE_MODEL_CONTEXT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/token.h"

namespace banyan {

// Features: the target's hidden states at consecutive tokens of a text.
struct Features {
  std::vector<int> taps;  // where they were taken (core/model/model.h)
  int hidden_size = 0;
  int rows = 0;
  std::vector<float> values;  // by row, then tap

  // The state at one of `taps`, which must be among them.
  absl::Span<const float> At(int tap, int row) const {
    const auto found = std::find(taps.begin(), taps.end(), tap);
    Check(found != taps.end(), "features that were not asked for");
    Check(row >= 0 && row < rows, "a row of features that is not there");
    const auto number = static_cast<std::size_t>(row) * taps.size() +
                        static_cast<std::size_t>(found - taps.begin());
    const auto size = static_cast<std::size_t>(hidden_size);
    return absl::MakeConstSpan(values).subspan(number * size, size);
  }
};

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
