// TransformerPass: one pass of the graph over the rows of several sessions.
// What it computes is every family's decoder; what they differ in stands in
// Architecture.
#ifndef BANYAN_CORE_TRANSFORMER_PASS_H_
#define BANYAN_CORE_TRANSFORMER_PASS_H_

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/model/model.h"
#include "core/ops/round_tables.h"
#include "core/ops/tensor.h"
#include "core/transformer/session.h"
#include "core/transformer/transformer.h"
#include "core/transformer/workspace.h"

namespace banyan {

// The first of its session's layers that a request needs: those before it a
// view has run, where all that is wanted of them is what it kept.
std::size_t StartOf(const ScoreRequest& request);

// One session's rows; all parts of a pass run the same layers.
struct PassPart {
  TransformerSession* session;
  const ScoreRequest* request;  // null: the rows are on the device
  int rows = 0;
  int from = 0;  // the first of them in the request's batch
  std::vector<int> taps = {};
  int logits_from = 0;
  // Set by the pass: the first of its rows; committed tokens and rows that
  // wait, in slots from `pending_slot` on; who sees whom.
  int first_row = 0;
  int committed = 0;
  int first_pending = 0;
  int pending_slot = 0;
  Live length = {};
  Ints visible = {};
  int visible_words = 0;
};

// One pass of a transformer over the rows of some requests.
//
// Where views have computed some rows, it goes on from these: a pass of the
// first layers computes the others, then all run the rest of the layers. Keys
// and values of rows of a request stand together, in the order of its batch.
class TransformerPass {
 public:
  // Requests that go on from views do so behind the same layer.
  TransformerPass(const Transformer& model,
                  absl::Span<const ScoreRequest* const> requests);
  // The rows outlive the pass. What it gives stays in the workspace.
  TransformerPass(const Transformer& model, TransformerSession& session,
                  const DeviceRows& rows, std::vector<int> taps,
                  std::shared_ptr<Workspace> workspace);

  // Stores the rows' keys and values in the sessions' caches, beyond what they
  // count as pending, and gives the scores in the order of the parts.
  absl::StatusOr<std::vector<std::unique_ptr<Scores>>> Run();
  // The same of rows on the device, with ops alone; the workspace has room once
  // it has been done. The logits, from `logits_from` on, and the states of all
  // rows at one of the taps are then these.
  absl::Status RunOnDevice();
  std::unique_ptr<Scores> ScoresOnDevice() const {
    return ScoresOf(parts_.front());
  }
  const Tensor& logits() const { return logits_; }
  const Tensor& states(int tap) const { return taps_.at(tap); }

 private:
  // Of some rows, up to a layer.
  TransformerPass(const Transformer& model, std::vector<PassPart> parts,
                  std::size_t end);

  // `embeds`: the rows start from their tokens, not from what views have kept.
  absl::Status Begin(bool embeds);
  absl::Status BeginOnDevice();
  // The stream behind the first layers, of rows that views have computed and of
  // the others; and what a view has of a part in the caches.
  absl::Status GoOn(std::size_t start);
  absl::Status TakeKeys(const PassPart& part, std::size_t start);
  absl::StatusOr<Tensor> RunOthers(std::size_t start,
                                   std::vector<int>& computed_as);
  // Room for the stream, and what it starts from unless views have that.
  absl::Status MakeStream();
  absl::Status Embed(const Ints& tokens);
  // The parts' vectors, in the stream.
  absl::Status PutVectors();
  absl::Status PutVectors(const PassPart& part);
  // What the rows start from, of both, which stand side by side.
  absl::Status EmbedBeside(const Ints& tokens);
  absl::Status HideFirstTokens(const Tensor& embedded);
  // The vectors' side is what the norm makes of the stream, or the stream.
  absl::Status PutBeside();
  Tensor TokenSide() const;
  Tensor VectorSide() const;
  absl::Status ProjectBeside(const TransformerLayer& layer,
                             const Tensor& projected);
  // From the place `start` of the layers on; the streams that views keep.
  absl::Status RunLayers(std::size_t start);
  absl::Status Keep();
  absl::Status RunBlocks(std::size_t place);
  absl::Status RunAttention(std::size_t place);
  // Adds to the stream what the layer's heads read.
  absl::Status Attend(std::size_t place, const Tensor& projected,
                      const Tensor& attended);
  absl::Status FeedForward(const TransformerLayer& layer);
  // The stream brought to a standard size, in normed_.
  NormArgs NormOf(const RowVector& weight, const RowVector& bias) const;
  // Keeps the hidden states after so many layers, if some part wants them.
  absl::Status Tap(int place);
  absl::Status Head();
  std::unique_ptr<Scores> ScoresOf(const PassPart& part) const;

  const Transformer& model_;
  const Architecture& architecture_;
  Backend& backend_;
  std::vector<PassPart> parts_;
  std::size_t end_;  // of the layers it runs
  const DeviceRows* on_device_ = nullptr;
  int rows_ = 0;
  std::shared_ptr<Workspace> workspace_;
  std::shared_ptr<Workspace>
      others_;  // of rows it did not go on from views with
  Tensor stream_, beside_, normed_, angles_, logits_;
  std::map<int, Tensor> taps_;  // by place, of all rows
};

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_PASS_H_
