// PassInput: the rows of a pass and what they start from. Made of a batch, of a
// device's rows, or of what views of the sessions have computed.
#ifndef BANYAN_CORE_TRANSFORMER_PASS_INPUT_H_
#define BANYAN_CORE_TRANSFORMER_PASS_INPUT_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/checkpoint/architecture.h"
#include "core/model/model.h"
#include "core/ops/norm.h"
#include "core/ops/round_tables.h"
#include "core/ops/tensor.h"
#include "core/transformer/session.h"
#include "core/transformer/transformer.h"
#include "core/transformer/weights.h"
#include "core/transformer/workspace.h"

namespace banyan {

// One session's rows.
struct PassPart {
  TransformerSession* session;
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
};

struct PassInput {
  std::vector<PassPart> parts;  // whose sessions run the same layers
  int rows = 0;
  // The layers to run, by place among those of the sessions.
  std::size_t start = 0;
  std::size_t end = 0;
  Tensor stream;
  Tensor beside;  // tokens and vectors, for a first layer that reads both
  Tensor angles;  // empty: positions are learned
  std::shared_ptr<Workspace> workspace;         // of all of these
  std::shared_ptr<Workspace> others = nullptr;  // of rows that are copied
};

// The first of its session's layers to run for a request. Earlier layers are
// taken from the view's saved hidden states.
std::size_t StartOf(const ScoreRequest& request);

// The rows of the requests, from their tokens and vectors. Makes room in the
// sessions' caches, beyond what they count as pending.
absl::StatusOr<PassInput> InputOfBatch(
    const Transformer& model, absl::Span<const ScoreRequest* const> requests);
// The rows of requests that go on from views after the same layer: a pass of
// the first layers computes the rows that no view has.
absl::StatusOr<PassInput> InputFromViews(
    const Transformer& model, absl::Span<const ScoreRequest* const> requests);
// The same of rows on the device, with ops alone; the workspace has room once
// it has been done.
absl::StatusOr<PassInput> InputOnDevice(const Transformer& model,
                                        TransformerSession& session,
                                        const DeviceRows& rows,
                                        std::vector<int> taps,
                                        std::shared_ptr<Workspace> workspace);

// What inputs and layers share: x brought to a standard size, in y; and the
// vectors' side of `beside`, which PutBeside makes of the stream.
NormArgs NormOf(const Architecture& architecture, const Tensor& x,
                const RowVector& weight, const RowVector& bias,
                const Tensor& y);
Tensor VectorSide(const Architecture& architecture, const Tensor& beside);
absl::Status PutBeside(const Transformer& model, const Tensor& stream,
                       const Tensor& beside);

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_PASS_INPUT_H_
