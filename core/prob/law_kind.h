// How the draws of a round are made, as a device is told it. Plain, for nvcc
// reads this too.
#ifndef BANYAN_CORE_PROB_LAW_KIND_H_
#define BANYAN_CORE_PROB_LAW_KIND_H_

namespace banyan {

// The draw kinds of a tree: DrawKind, which nothing here knows.
enum class LawKind { kIndependent, kWithoutReplacement, kDeterministic };

}  // namespace banyan

#endif  // BANYAN_CORE_PROB_LAW_KIND_H_
