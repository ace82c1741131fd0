// What drafters do in a round that a transformer's device runs alone.
#ifndef BANYAN_CORE_TRANSFORMER_DEVICE_DRAFTER_H_
#define BANYAN_CORE_TRANSFORMER_DEVICE_DRAFTER_H_

#include <memory>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/op_args.h"
#include "core/ops/round_args.h"
#include "core/transformer/pass.h"
#include "core/transformer/sequence.h"

namespace banyan {

struct TransformerDrafterTraits {
  // The target's; its work is done there.
  const Backend* backend;
  // Tokens that it may emit, of the target's vocabulary.
  int used_vocab;
  // RoundDrafter::columns.
  std::vector<int> columns = {};
  // Whether there is one distribution a level, whatever the path, and of how
  // many levels at most.
  bool by_depth = false;
  int most_levels;
  // The longest text that it may read, and the shortest.
  int longest_text;
  int shortest_text = 1;
  // The target's states that it reads; ascending.
  std::vector<int> taps = {};
  // The sequence whose rows it runs is null if it runs none. `rereads` says
  // whether its tokens are pairs (RoundDrafter::rereads).
  TransformerSequence* sequence = nullptr;
  bool rereads = false;
};

// How many rows a drafter meets in a round.
struct DrafterRoom {
  int kept = 0;   // of the target's, at most (RoundSteps::kept_rows)
  int level = 0;  // of its widest level
  int all = 0;    // of its levels together
};

class TransformerDrafter;

// A sequence's part in a level that several draft at once: the rows of its
// nodes (RoundSteps::draft_rows).
struct DraftTurn {
  TransformerDrafter* drafter;
  DeviceRows rows;
};

class TransformerDrafter : public DeviceDrafter {
 public:
  const TransformerDrafterTraits& traits() const { return traits_; }

  // Called once, before all else.
  virtual absl::Status Join(const DrafterRoom& /*room*/) {
    return absl::OkStatus();
  }
  // Reads of the context what it has not read, the root aside, and what it
  // needs of its features.
  virtual absl::Status Begin(const Context& context) = 0;
  // By turn the logits of a level's nodes, a row each, with ops alone. Asked of
  // the first turn's drafter; the others were made as it was, for other
  // sequences of the same method.
  virtual absl::StatusOr<std::vector<Tensor>> Logits(
      int level, absl::Span<const DraftTurn> turns) = 0;
  // Takes what it needs of the target's states at a round's kept rows, with ops
  // alone. `part`: the sequence's of the target's pass.
  virtual absl::Status Take(const TransformerPass& target, const PassPart& part,
                            const Ints& kept_rows) = 0;

 protected:
  explicit TransformerDrafter(TransformerDrafterTraits traits)
      : traits_(std::move(traits)) {}

 private:
  TransformerDrafterTraits traits_;
};

// Makes a drafter of a model of the target's vocabulary on the target's
// backend, with the session that reads its text. Returns null if that is not
// the session of a transformer.
std::unique_ptr<DeviceDrafter> NewModelDrafter(Session& session);

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_DEVICE_DRAFTER_H_
