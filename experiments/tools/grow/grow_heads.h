// Heads grown with their target: the same proposals from the larger hidden
// state. Whose heads they are and how their tensors follow the target, the
// drafters say (drafters/heads/head_growth.h, which also says why nothing
// changes).
#ifndef BANYAN_EXPERIMENTS_TOOLS_GROW_GROW_HEADS_H_
#define BANYAN_EXPERIMENTS_TOOLS_GROW_GROW_HEADS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "drafters/catalogue.h"
#include "drafters/heads/head_growth.h"
#include "experiments/tools/grow/output_folder.h"
#include "experiments/tools/grow/write_tensors.h"

namespace banyan {

struct HeadsGrowth {
  GrowingTarget target;
  // Whose heads they may be.
  absl::Span<const DrafterRow> drafters = DrafterCatalogue();
};

struct GrownHeads {
  std::string summary;          // of the heads, for people
  std::vector<HeadFact> facts;  // and for programs
  bool like_target = false;     // their cost grew with the target's
  std::int64_t bytes = 0;
};

// Reads `from`/config.json and the heads, and writes to `folder` config.json,
// made new as the heads say, with `grown_from`, model.safetensors, and a copy
// of the heads' draft vocabulary if they have one. If no drafter reads the
// heads, the error says what each one expected. Fails as OutputFolder and
// SafetensorsWriter do.
absl::StatusOr<GrownHeads> GrowHeads(const std::string& from,
                                     const HeadsGrowth& growth,
                                     const WriteOptions& options,
                                     OutputFolder& folder);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_TOOLS_GROW_GROW_HEADS_H_
