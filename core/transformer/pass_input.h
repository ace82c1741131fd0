// PassInput has the rows of a pass and what they start from. It is made of
// batches or of a device's rows.
#ifndef BANYAN_CORE_TRANSFORMER_PASS_INPUT_H_
#define BANYAN_CORE_TRANSFORMER_PASS_INPUT_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/checkpoint/architecture.h"
#include "core/model/model.h"
#include "core/ops/op_args.h"
#include "core/ops/round_args.h"
#include "core/transformer/network.h"
#include "core/transformer/sequence.h"
#include "core/transformer/weights.h"

namespace banyan {

// Says what a request's sessions are here: its own `session` and `done.view`
// are not read.
struct SequenceRequest {
  const ScoreRequest* of;
  TransformerSequence* sequence;
  // The view's rows are done (DoneRows). Null: no rows are.
  TransformerSequence* view = nullptr;
};

// Neighbouring rows of a request's batch.
struct BatchRun {
  const SequenceRequest* request;
  int from = 0;
  int rows = 0;
};

// One sequence's rows.
struct PassPart {
  TransformerSequence* sequence;
  int rows = 0;
  std::vector<int> taps = {};
  int logits_from = 0;
  bool on_device = false;  // which keeps no streams for views
  int first_row = 0;       // in the pass
  // Committed tokens, and rows that wait in slots from `pending_slot` on; which
  // of them each row sees.
  int committed = 0;
  int first_pending = 0;
  int pending_slot = 0;
  Live length = {};
  Ints visible = {};
  int visible_words = 0;
  bool is_chain = false;  // each row sees all that wait before it
};

struct PassInput {
  std::vector<PassPart> parts;  // whose sequences run the same layers
  int rows = 0;
  // The layers to run, by place among those of the sequences.
  std::size_t start = 0;
  std::size_t end = 0;
  Tensor stream;
  Tensor beside;  // tokens and vectors, for a first layer that reads both
  Tensor angles;  // empty: positions are learned
  std::shared_ptr<Workspace> workspace;         // of all of these
  std::shared_ptr<Workspace> others = nullptr;  // of rows that are copied
};

// Returns a run for each request, its whole batch.
std::vector<BatchRun> WholeBatches(
    absl::Span<const SequenceRequest* const> requests);

// Says what a pass over runs of batches computes.
struct BatchPassOptions {
  std::size_t end = 0;  // as in PassInput
  // Whether taps and logits are wanted; the runs are whole batches then.
  bool scores = true;
  // Whether the rows start from their tokens and vectors, or the stream is
  // memory alone.
  bool embeds = true;
};

// Returns the rows of the runs. Makes room in the sequences' caches, beyond
// what they count as pending.
absl::StatusOr<PassInput> InputOfRuns(const Network& network,
                                      std::vector<BatchRun> runs,
                                      const BatchPassOptions& options);

// A sequence's rows that the device alone holds.
struct DevicePart {
  TransformerSequence* sequence;
  DeviceRows rows;
};
// Returns the same of rows on the device, with ops alone. The workspace has
// room once that has been done. All or none of the parts have vectors.
absl::StatusOr<PassInput> InputOnDevice(const Network& network,
                                        absl::Span<const DevicePart> parts,
                                        const std::vector<int>& taps,
                                        std::shared_ptr<Workspace> workspace);

// What inputs and layers share: x brought to a standard size, in y; and the
// vectors' side of `beside`, which PutBeside makes of the stream.
NormArgs NormOf(const Architecture& architecture, const Tensor& x,
                const RowVector& weight, const RowVector& bias,
                const Tensor& y);
Tensor VectorSide(const Architecture& architecture, const Tensor& beside);
absl::Status PutBeside(const Network& network, const Tensor& stream,
                       const Tensor& beside);

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_PASS_INPUT_H_
