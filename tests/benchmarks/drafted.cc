#include "tests/benchmarks/drafted.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/check.h"
#include "core/random/random_source.h"
#include "drafters/drafter.h"
#include "drafters/drafting.h"
#include "tests/support/draft_trunk.h"

namespace banyan {

Context RoundContext(std::uint32_t round) {
  return {.tokens = {0}, .prompt_length = 1, .round = round};
}

Shape ThreeLevels(int nodes) {
  std::vector<int> branching = {4, 3, 4};
  if (nodes == 256) branching = {4, 7, 8};
  if (nodes == 1024) branching = {4, 15, 16};
  absl::StatusOr<Shape> shape = Shape::FromBranching(branching);
  Check(shape.ok() && shape->size() == nodes + 1, "no such size");
  return *std::move(shape);
}

TrunkTree DraftedTree(const MadeUpLaws& laws, bool dense,
                      const TreePolicy& policy, DrawKind draw_kind,
                      std::uint32_t round) {
  constexpr int kNoLimit = 1 << 20;
  MadeUpDrafter drafter(laws, dense);
  const std::unique_ptr<DraftSession> session = drafter.NewSession();
  SeededSource random(1);
  const Context context = RoundContext(round);
  absl::StatusOr<TrunkTree> tree = DraftTrunk(
      {drafter, *session, policy, draw_kind, 0}, context,
      {.max_depth = kNoLimit}, Chance(random, context.prompt, context.round));
  Check(tree.ok(), "a made-up drafter does not fail");
  return *std::move(tree);
}

}  // namespace banyan
