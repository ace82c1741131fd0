#include "core/transformer/transformer.h"

#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/checkpoint.h"
#include "core/model/device_round.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/weight.h"
#include "core/prob/round_plan.h"
#include "core/transformer/device_drafter.h"
#include "core/transformer/network.h"
#include "core/transformer/pass_input.h"
#include "core/transformer/score_batches.h"
#include "core/transformer/sequence.h"
#include "core/transformer/transformer_round.h"
#include "core/transformer/weight_stream.h"
#include "core/transformer/weights.h"

namespace banyan {
namespace {

// A prompt is read in pieces: enough rows to share a reading of the weights,
// few enough that a pass's own numbers stay small.
constexpr int kPrefillRows = 256;

class TransformerSession : public Session {
 public:
  explicit TransformerSession(TransformerSequence sequence)
      : sequence_(std::move(sequence)) {}

  TransformerSequence& sequence() { return sequence_; }
  int length() const override { return sequence_.length(); }
  int pending() const override { return sequence_.pending(); }
  absl::Status Prefill(absl::Span<const TokenId> tokens,
                       absl::Span<const int> taps, FeatureSink sink) override;
  absl::Status Commit(absl::Span<const int> path) override {
    return sequence_.Commit(path);
  }
  absl::StatusOr<std::unique_ptr<Session>> View(
      const ViewOptions& options) override {
    BANYAN_ASSIGN_OR_RETURN(TransformerSequence view, sequence_.View(options));
    return std::make_unique<TransformerSession>(std::move(view));
  }

 private:
  // Scores and commits one piece of a text.
  absl::Status PrefillPiece(absl::Span<const TokenId> tokens,
                            absl::Span<const int> taps, FeatureSink sink);

  TransformerSequence sequence_;
};

absl::Status TransformerSession::PrefillPiece(absl::Span<const TokenId> tokens,
                                              absl::Span<const int> taps,
                                              FeatureSink sink) {
  const TokenBatch batch = TokenBatch::Chain(tokens, length());
  std::vector<int> path(tokens.size());
  std::iota(path.begin(), path.end(), 0);
  const ScoreRequest request = {
      this, &batch, {taps.begin(), taps.end()}, batch.size()};
  const SequenceRequest own = {&request, &sequence_};
  BANYAN_ASSIGN_OR_RETURN(const auto scores,
                          ScoreBatches(sequence_.network(), {&own, 1}));
  if (!taps.empty())
    BANYAN_RETURN_IF_ERROR(sink(*scores.front(), batch.size()));
  return Commit(path);
}

absl::Status TransformerSession::Prefill(absl::Span<const TokenId> tokens,
                                         absl::Span<const int> taps,
                                         FeatureSink sink) {
  BANYAN_RETURN_IF_ERROR(sequence_.BeginPrefill(tokens));
  const int before = length();
  while (!tokens.empty()) {
    const absl::Span<const TokenId> piece = tokens.subspan(0, kPrefillRows);
    const absl::Status status = PrefillPiece(piece, taps, sink);
    if (!status.ok()) {  // what an earlier piece committed is forgotten too
      sequence_.CutTo(before);
      return status;
    }
    tokens.remove_prefix(piece.size());
  }
  return absl::OkStatus();
}

}  // namespace

TransformerSequence* SequenceOf(Session* session) {
  auto* const own = dynamic_cast<TransformerSession*>(session);
  return own == nullptr ? nullptr : &own->sequence();
}

absl::StatusOr<std::unique_ptr<Transformer>> Transformer::Load(
    const Checkpoint& checkpoint, const TransformerOptions& options,
    std::shared_ptr<Backend> backend, const BorrowedWeights& borrowed,
    const Network* resident) {
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<const Network> network,
                          Network::Load(checkpoint, options, std::move(backend),
                                        borrowed, resident));
  return std::make_unique<Transformer>(std::move(network));
}

Transformer::Transformer(std::shared_ptr<const Network> network)
    : Model({.vocab_size = network->vocab_size(),
             .context_limit = network->context_limit(),
             .layers = network->layers(),
             .hidden_size = network->hidden_size(),
             .grown_from = network->architecture().grown_from}),
      network_(std::move(network)) {}

ModelFacts Transformer::facts() const {
  const TransformerWeights& weights = network_->weights();
  const Weight* const head = network_->head_part();
  const WeightStream* const stream = network_->stream();
  const Backend& backend = network_->backend();
  return {
      .format = network_->options().format,
      .source_format = network_->architecture().source_format,
      .streamed_bytes =
          weights.layer_bytes() + (head == nullptr ? 0 : head->bytes()),
      .disk_bytes = stream == nullptr ? 0 : stream->pass_bytes(),
      .operations_per_token =
          2 *
          (weights.layer_numbers() +
           (head == nullptr ? 0 : double{1} * head->rows() * head->columns())),
      .end_of_text = network_->architecture().end_of_text,
      .device = backend.facts().device,
      .backend = backend.description(),
      .device_peak_bytes = backend.peak_bytes(),
      .activation_bytes = network_->idle_workspace_bytes()};
}

ModelFacets Transformer::facets() const {
  return {.on_disk = network_->stream() == nullptr ? nullptr : this,
          .trimmable = this,
          .device_rounds = this,
          .network = network_.get()};
}

std::unique_ptr<Session> Transformer::NewSession() const {
  return std::make_unique<TransformerSession>(TransformerSequence(*network_));
}

absl::StatusOr<std::vector<std::unique_ptr<Scores>>> Transformer::Score(
    absl::Span<const ScoreRequest> requests) const {
  std::vector<SequenceRequest> own;
  for (const ScoreRequest& request : requests) {
    TransformerSequence* const sequence = SequenceOf(request.session);
    if (sequence == nullptr || &sequence->network() != network_.get())
      return absl::InvalidArgumentError("score: a session of another model");
    own.push_back({&request, sequence, SequenceOf(request.done.view)});
  }
  return ScoreBatches(*network_, own);
}

absl::StatusOr<std::uint64_t> Transformer::ReadFromDisk() const {
  return network_->stream()->ReadAll();
}

absl::StatusOr<std::shared_ptr<const Model>> Transformer::WithOutputs(
    absl::Span<const TokenId> tokens) const {
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<const Network> network,
                          network_->WithOutputs(tokens));
  return std::make_shared<const Transformer>(std::move(network));
}

absl::StatusOr<std::unique_ptr<DeviceRound>> Transformer::NewDeviceRound(
    Session& session, const RoundPlan& plan,
    std::unique_ptr<DeviceDrafter> drafter) const {
  TransformerSequence* const sequence = SequenceOf(&session);
  Check(sequence != nullptr && &sequence->network() == network_.get(),
        "a session of another model");
  auto* const known = dynamic_cast<TransformerDrafter*>(drafter.get());
  if (drafter != nullptr && known == nullptr)
    return absl::UnimplementedError("a drafter of another kind of model");
  (void)drafter.release();
  return TransformerRound::Create(*sequence, plan, absl::WrapUnique(known));
}

}  // namespace banyan
