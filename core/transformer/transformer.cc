#include "core/transformer/transformer.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/memory/memory.h"
#include "core/base/check.h"
#include "core/base/messages.h"
#include "core/checkpoint/architecture.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"
#include "core/transformer/device_drafter.h"
#include "core/transformer/model_split.h"
#include "core/transformer/pass.h"
#include "core/transformer/transformer_round.h"
#include "core/transformer/weight_stream.h"

namespace banyan {

namespace {

// Fails for taps after layers that the sequence does not run: a view has no
// hidden state there.
absl::Status CheckTaps(const TransformerSequence& sequence,
                       const std::vector<int>& taps) {
  const std::vector<RunLayer>& layers = sequence.layers();
  for (int tap : taps)
    if (tap != kAfterFinalNorm && tap != 0 &&
        std::none_of(layers.begin(), layers.end(), [tap](const RunLayer& run) {
          return run.layer + 1 == tap;
        }))
      return absl::InvalidArgumentError(absl::StrCat(
          "score: expected hidden states after 0 to ",
          sequence.network().layers(),
          " layers, the last of them run by the session, found ", tap));
  return absl::OkStatus();
}

absl::Status CheckVectors(const ScoreRequest& request,
                          const Architecture& architecture) {
  const int hidden_size = architecture.hidden_size;
  const int batch = request.batch->size();
  const bool all = request.vector_rows.empty();
  const std::size_t rows =
      all ? static_cast<std::size_t>(batch) : request.vector_rows.size();
  const std::size_t expected = rows * static_cast<std::size_t>(hidden_size);
  const bool needs_them = architecture.input.kind != VectorInput::Kind::kNone;
  int previous = -1;
  for (int row : request.vector_rows) {
    if (row <= previous || row >= batch)
      return absl::InvalidArgumentError(absl::StrCat(
          "score: expected ascending rows below ", batch,
          " to start from vectors, found ", row, " after ", previous));
    previous = row;
  }
  if ((request.vectors.empty() && !needs_them) ||
      request.vectors.size() == expected)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("score: expected ", expected, " numbers to start ",
                   Counted(static_cast<int>(rows), "row"), " of ", hidden_size,
                   " from, found ", request.vectors.size()));
}

// Returns the first of its sequence's layers to run for a request. Earlier
// layers are taken from the view's saved hidden states.
std::size_t StartOf(const SequenceRequest& request) {
  if (request.view == nullptr) return 0;
  const std::size_t start = request.view->layers().size();
  const bool taps_before = absl::c_any_of(request.of->taps, [start](int tap) {
    return tap != kAfterFinalNorm && tap < static_cast<int>(start);
  });
  return taps_before ? 0 : start;
}

// Returns the request's rows that no view has computed.
std::vector<BatchRun> RunsLeft(const SequenceRequest& request) {
  std::vector<BatchRun> runs;
  const std::vector<int>& done = request.of->done.rows;
  for (int row = 0; row < request.of->batch->size(); ++row) {
    if (done[static_cast<std::size_t>(row)] >= 0) continue;
    if (runs.empty() || runs.back().from + runs.back().rows < row)
      runs.push_back({&request, row, 0});
    ++runs.back().rows;
  }
  return runs;
}

// Copies the view's keys and values of the layers before `start` to the caches
// of the part's sequence.
absl::Status TakeKeys(const SequenceRequest& request, const PassPart& part,
                      std::size_t start) {
  Backend& backend = part.sequence->network().backend();
  const std::vector<int>& done = request.of->done.rows;
  for (std::size_t first = 0; first < done.size();) {
    std::size_t end = first;
    while (end < done.size() && done[end] >= 0) ++end;
    const std::vector<int> slots(
        done.begin() + static_cast<std::ptrdiff_t>(first),
        done.begin() + static_cast<std::ptrdiff_t>(end));
    for (std::size_t place = 0; !slots.empty() && place < start; ++place)
      BANYAN_RETURN_IF_ERROR(
          backend.MoveKv({.cache = &part.sequence->pending_cache(place),
                          .slots = slots,
                          .first_slot = part.pending_slot + part.first_pending +
                                        static_cast<int>(first),
                          .from = &request.view->pending_cache(place)}));
    first = end + 1;
  }
  return absl::OkStatus();
}

// Runs the first layers of the rows that no view has computed, and copies what
// comes out to their rows of `input`.
absl::Status RunOthers(const Network& network,
                       absl::Span<const SequenceRequest* const> requests,
                       PassInput& input) {
  std::vector<BatchRun> left;
  std::vector<int> computed_as(static_cast<std::size_t>(input.rows), -1);
  int count = 0;
  for (std::size_t i = 0; i < requests.size(); ++i)
    for (const BatchRun& run : RunsLeft(*requests[i])) {
      const int first = input.parts[i].first_row + run.from;
      for (int row = 0; row < run.rows; ++row)
        computed_as[static_cast<std::size_t>(first + row)] = count++;
      left.push_back(run);
    }
  if (left.empty()) return absl::OkStatus();
  BANYAN_ASSIGN_OR_RETURN(PassInput others,
                          InputOfRuns(network, std::move(left),
                                      {.end = input.start, .scores = false}));
  TransformerPass first(network, std::move(others));
  BANYAN_RETURN_IF_ERROR(first.RunLayers());
  input.others = first.input().workspace;  // until this pass is through
  BANYAN_ASSIGN_OR_RETURN(const Ints rows,
                          input.workspace->List(Workspace::kIds, computed_as));
  return network.backend().Copy({first.input().stream, input.stream, rows});
}

// Returns the rows of requests that start at the same layer, not the first.
absl::StatusOr<PassInput> InputFromViews(
    const Network& network, absl::Span<const SequenceRequest* const> requests) {
  BANYAN_ASSIGN_OR_RETURN(
      PassInput input,
      InputOfRuns(network, WholeBatches(requests),
                  {.end = requests.front()->sequence->layers().size(),
                   .embeds = false}));
  input.start = StartOf(*requests.front());
  for (std::size_t i = 0; i < requests.size(); ++i)
    BANYAN_RETURN_IF_ERROR(TakeKeys(*requests[i], input.parts[i], input.start));
  BANYAN_RETURN_IF_ERROR(RunOthers(network, requests, input));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const PassPart& part = input.parts[i];
    BANYAN_ASSIGN_OR_RETURN(
        const Ints rows,
        input.workspace->List(Workspace::kIds, requests[i]->of->done.rows));
    BANYAN_RETURN_IF_ERROR(network.backend().Copy(
        {requests[i]->view->kept_rows(),
         input.stream.Rows(part.first_row, part.rows), rows}));
  }
  return input;
}

absl::StatusOr<PassInput> InputOf(
    const Network& network, absl::Span<const SequenceRequest* const> requests) {
  if (StartOf(*requests.front()) > 0) return InputFromViews(network, requests);
  return InputOfRuns(network, WholeBatches(requests),
                     {.end = requests.front()->sequence->layers().size()});
}

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<Scores>>> ScoreBatches(
    const Network& network, absl::Span<const SequenceRequest> requests) {
  std::vector<TransformerSequence*> sequences;
  for (const SequenceRequest& own : requests) {
    const ScoreRequest& request = *own.of;
    TransformerSequence* const sequence = own.sequence;
    if (std::find(sequences.begin(), sequences.end(), sequence) !=
        sequences.end())
      return absl::InvalidArgumentError("score: the same session twice");
    if (request.batch->size() == 0)
      return absl::InvalidArgumentError("score: a batch without tokens");
    BANYAN_RETURN_IF_ERROR(sequence->CheckBatch(*request.batch));
    BANYAN_RETURN_IF_ERROR(CheckTaps(*sequence, request.taps));
    BANYAN_RETURN_IF_ERROR(CheckVectors(request, network.architecture()));
    if (request.done.view != nullptr)
      BANYAN_RETURN_IF_ERROR(
          sequence->CheckDone(own.view, request.done.rows, *request.batch));
    network.split().Note(request.batch->tokens);
    network.split().Note(request.batch->parents);
    sequences.push_back(sequence);
  }
  // Sequences that run the same layers from the same one on share a pass.
  std::vector<std::unique_ptr<Scores>> scores(requests.size());
  std::vector<bool> done(requests.size(), false);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (done[i]) continue;
    std::vector<const SequenceRequest*> together;
    std::vector<std::size_t> places;
    for (std::size_t j = i; j < requests.size(); ++j) {
      if (done[j] || sequences[j]->layers() != sequences[i]->layers() ||
          StartOf(requests[j]) != StartOf(requests[i]))
        continue;
      done[j] = true;
      places.push_back(j);
      together.push_back(&requests[j]);
    }
    BANYAN_ASSIGN_OR_RETURN(PassInput input, InputOf(network, together));
    TransformerPass pass(network, std::move(input));
    BANYAN_RETURN_IF_ERROR(pass.Run());
    for (std::size_t j = 0; j < places.size(); ++j)
      scores[places[j]] = pass.ScoresOf(pass.input().parts[j]);
  }
  // Only now that nothing can fail.
  for (std::size_t i = 0; i < requests.size(); ++i)
    sequences[i]->Append(*requests[i].of->batch);
  return scores;
}

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
      .matrices = weights.kept(),
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
  // With other ranks a round's steps would have to be taken alike on all.
  const bool runs =
      network_->backend().facts().own_rounds != OwnRounds::kNone &&
      network_->split().whole();
  return {.on_disk = network_->stream() == nullptr ? nullptr : this,
          .trimmable = this,
          .device_rounds = runs ? this : nullptr,
          .network = network_.get()};
}

std::unique_ptr<Session> Transformer::NewSession() const {
  return std::make_unique<TransformerSession>(TransformerSequence(*network_));
}

absl::StatusOr<std::vector<std::unique_ptr<Scores>>> Transformer::Score(
    absl::Span<const ScoreRequest> requests) const {
  BANYAN_RETURN_IF_ERROR(AskStop());
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

bool Transformer::by_default() const {
  return network_->backend().facts().own_rounds == OwnRounds::kByDefault;
}

absl::StatusOr<std::unique_ptr<DeviceRound>> Transformer::NewDeviceRound(
    Session& session, RoundPlan plan,
    std::vector<std::unique_ptr<DeviceDrafter>> drafters) const {
  TransformerSequence* const sequence = SequenceOf(&session);
  Check(sequence != nullptr && &sequence->network() == network_.get(),
        "a session of another model");
  std::vector<std::unique_ptr<TransformerDrafter>> known;
  for (std::unique_ptr<DeviceDrafter>& drafter : drafters) {
    auto* const own = dynamic_cast<TransformerDrafter*>(drafter.get());
    if (own == nullptr && drafter != nullptr)
      return absl::UnimplementedError("a drafter of another kind of model");
    (void)drafter.release();
    known.push_back(absl::WrapUnique(own));
  }
  return TransformerRound::Create(*sequence, std::move(plan), std::move(known));
}

absl::StatusOr<RoundsFound> Transformer::RunRounds(
    absl::Span<DeviceRound* const> rounds) const {
  std::vector<TransformerRound*> own;
  for (DeviceRound* round : rounds)
    own.push_back(static_cast<TransformerRound*>(round));
  return TransformerRound::Run(own);
}

}  // namespace banyan
