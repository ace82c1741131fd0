// Trees for the benchmarks, grown from made-up distributions.
#ifndef BANYAN_TESTS_BENCHMARKS_DRAFTED_H_
#define BANYAN_TESTS_BENCHMARKS_DRAFTED_H_

#include <cstdint>

#include "core/model/context.h"
#include "tests/benchmarks/made_up_laws.h"
#include "tree/draft_tree.h"
#include "tree/optimize/shape.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {

// The context of round `round`: one token, so the root is all there is.
Context RoundContext(std::uint32_t round);

// A tree of `nodes` drafted nodes and three levels, as an expansion is written:
// 64 is <4, 3, 4>, 256 is <4, 7, 8>, 1024 is <4, 15, 16>. No other size.
Shape ThreeLevels(int nodes);

// One trunk's tree of round `round`, drawn by a SeededSource.
TrunkTree DraftedTree(const MadeUpLaws& laws, bool dense,
                      const TreePolicy& policy, DrawKind draw_kind,
                      std::uint32_t round);

}  // namespace banyan

#endif  // BANYAN_TESTS_BENCHMARKS_DRAFTED_H_
