// The shapes that are known before anything is drawn, from their parameters.
#ifndef BANYAN_TREE_POLICIES_PLANS_H_
#define BANYAN_TREE_POLICIES_PLANS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "tree/optimize/hardware.h"
#include "tree/optimize/sequoia.h"
#include "tree/policies/row.h"

namespace banyan {

// `nodes` tokens in a line.
PolicyRow ChainRow();

// The section of the policy that drafts `nodes` tokens in a line, and of the
// one whose root alone draws, `draws` times.
Params ChainSection(int nodes);
Params RootSection(int draws);
// The section of the policy that draws `draws` tokens at each of the first
// `heads` nodes of the path of first children.
Params HeadsSection(int heads, int draws);

// Every node of level i gets branching[i] draws (SpecInfer's <k1, ..., km>).
// With `share_draws` the nodes of a level use one set of draws: for drafters
// whose distribution does not depend on the path, such as heads.
PolicyRow ExpansionRow();

// A stated tree: `paths`, lists of child ranks from 0; or `file`, a JSON file
// of them beside the configuration, with `tree` if it holds several; or drawn
// up greedily from `accuracies` by head and rank, to that many `nodes`
// (Medusa).
PolicyRow StaticRow();

// What sequoia and auto read: `acceptance` by rank; `nodes`, `levels`, `width`,
// `batch`, `target_ms`, `draft_ms`.
// The reader keeps errors; ReadHardware comes after its Finish() and requires
// target_ms.
struct HardwareSection : SequoiaOptions {
  int batch = 1;
  const Params* target_ms = nullptr;
  const Params* draft_ms = nullptr;
};
HardwareSection TakeHardware(ParamsReader& in);
std::vector<KeyRow> HardwareKeys();
absl::StatusOr<HardwareOptions> ReadHardware(const HardwareSection& section);

// The best tree for an acceptance by rank; with `target_ms` also the size and
// depth are chosen, for speed, with `draft_ms` a level.
PolicyRow SequoiaRow();

}  // namespace banyan

#endif  // BANYAN_TREE_POLICIES_PLANS_H_
