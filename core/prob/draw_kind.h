// DrawKind: how the tokens of a draw list were chosen. Plain, for nvcc reads
// this too.
#ifndef BANYAN_CORE_PROB_DRAW_KIND_H_
#define BANYAN_CORE_PROB_DRAW_KIND_H_

#include <array>

namespace banyan {

// The draw kind decides which verifiers may judge the draws. A finished tree
// may always be relabelled deterministic; the other two hold only for tokens
// drawn that way.
enum class DrawKind {
  kIndependent,         // drawn from the proposal, each time anew
  kWithoutReplacement,  // drawn from what the earlier draws left of it
  kDeterministic,       // fixed by the context: ranked, retrieved, copied
};

// In the order of their declaration.
inline constexpr std::array kDrawKinds = {DrawKind::kIndependent,
                                          DrawKind::kWithoutReplacement,
                                          DrawKind::kDeterministic};

}  // namespace banyan

#endif  // BANYAN_CORE_PROB_DRAW_KIND_H_
