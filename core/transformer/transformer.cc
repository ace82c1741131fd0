#include "core/transformer/transformer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/counted.h"
#include "core/base/status_macros.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/checkpoint.h"
#include "core/model/device_round.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/owned_tensor.h"
#include "core/ops/tensor.h"
#include "core/ops/weight.h"
#include "core/pack/pack_file.h"
#include "core/prob/round_plan.h"
#include "core/transformer/device_drafter.h"
#include "core/transformer/model_split.h"
#include "core/transformer/pass.h"
#include "core/transformer/pass_input.h"
#include "core/transformer/session.h"
#include "core/transformer/transformer_round.h"
#include "core/transformer/weight_stream.h"
#include "core/transformer/weights.h"
#include "core/transformer/workspace.h"

namespace banyan {
namespace {

// A view has no hidden state after a layer that it does not run.
absl::Status CheckTaps(const TransformerSession& session,
                       const std::vector<int>& taps) {
  const std::vector<RunLayer>& layers = session.layers();
  for (int tap : taps)
    if (tap != kAfterFinalNorm && tap != 0 &&
        std::none_of(layers.begin(), layers.end(), [tap](const RunLayer& run) {
          return run.layer + 1 == tap;
        }))
      return absl::InvalidArgumentError(absl::StrCat(
          "score: expected hidden states after 0 to ", session.model().layers(),
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

// This rank's rows of an output head; null if it has none.
absl::StatusOr<std::shared_ptr<const Weight>> PartOf(
    const std::shared_ptr<const Weight>& head, const ModelSplit& split,
    Backend& backend) {
  if (split.whole()) return head;
  const Stretch rows = split.mine(split.Logits(head->rows()));
  if (rows.count == 0) return nullptr;
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<const Weight> part,
                          backend.Part(*head, rows.first, rows.count));
  return part;
}

absl::Status CheckPacked(const Checkpoint& checkpoint,
                         const TransformerOptions& options) {
  if (options.room.memory > 0 && options.ranks != nullptr)
    return absl::InvalidArgumentError(
        "memory: expected no bound on memory with several ranks, each of which "
        "has a part of the layers in memory");
  if (checkpoint.pack() == nullptr)
    return options.room.memory == 0
               ? absl::OkStatus()
               : absl::InvalidArgumentError(
                     absl::StrCat(checkpoint.directory(),
                                  ": expected a packed model (banyan pack), "
                                  "since its memory "
                                  "is bounded"));
  if (options.room.memory == 0 || checkpoint.pack()->format == options.format)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(checkpoint.directory(), ": expected weights in ",
                   Name(checkpoint.pack()->format),
                   ", as they were packed, found ", Name(options.format)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Transformer>> Transformer::Load(
    const Checkpoint& checkpoint, const TransformerOptions& options,
    std::shared_ptr<Backend> backend, const BorrowedWeights& borrowed,
    const Transformer* resident) {
  const Architecture& architecture = checkpoint.architecture();
  if (options.used_vocab < 0 || options.used_vocab > architecture.vocab_size)
    return absl::InvalidArgumentError(absl::StrCat(
        checkpoint.directory(), ": the tokenizer has ", options.used_vocab,
        " tokens, more than the model's vocabulary of ",
        architecture.vocab_size));
  BANYAN_RETURN_IF_ERROR(
      backend->CheckRoom(WeightBytes(architecture, options.format),
                         absl::StrCat(checkpoint.directory(), ": weights as ",
                                      Name(options.format))));
  BANYAN_RETURN_IF_ERROR(CheckPacked(checkpoint, options));
  std::shared_ptr<const WeightStream> stream;
  if (options.room.memory > 0) {
    BANYAN_ASSIGN_OR_RETURN(stream,
                            WeightStream::Open(checkpoint, options.room));
  }
  if (options.ranks != nullptr &&
      architecture.input.kind != VectorInput::Kind::kNone)
    return absl::InvalidArgumentError(absl::StrCat(
        checkpoint.directory(), ": a draft head is not shared out to ranks"));
  const auto split = std::make_shared<ModelSplit>(architecture, options.ranks);
  std::optional<ResidentWeights> shared;
  if (resident != nullptr && resident->stream() != nullptr)
    shared.emplace(ResidentWeights{resident->weights(), *resident->stream()});
  BANYAN_ASSIGN_OR_RETURN(
      TransformerWeights weights,
      LoadTransformerWeights(checkpoint, options.format, *backend, *split,
                             borrowed, stream.get(),
                             shared ? &*shared : nullptr));
  std::shared_ptr<const Weight> head = weights.Lend().head;
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<const Weight> part,
                          PartOf(head, *split, *backend));
  return absl::WrapUnique(new Transformer(
      architecture, options,
      std::make_shared<const TransformerWeights>(std::move(weights)),
      std::move(head), std::move(part), std::move(stream), split,
      std::move(backend)));
}

absl::StatusOr<std::shared_ptr<const Model>> Transformer::WithOutputs(
    absl::Span<const TokenId> tokens) const {
  const std::vector<int> columns = outputs_.ByToken(vocab_size());
  std::vector<int> rows;
  TransformerOptions options = options_;
  options.token_of.clear();
  options.used_vocab = 0;
  for (const TokenId token : tokens) {
    const int row =
        outputs_.all() ? token : columns[static_cast<std::size_t>(token)];
    if (row < 0 || (outputs_.all() && row >= options_.used_vocab)) continue;
    rows.push_back(row);
    options.token_of.push_back(token);
  }
  if (rows.empty())
    return absl::InvalidArgumentError(
        "expected a token that the model has a logit for, found none");
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<const Weight> head,
                          RowsOf(*head_, rows, *backend_));
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<const Weight> part,
                          PartOf(head, *split_, *backend_));
  return absl::WrapUnique(new Transformer(
      architecture_, std::move(options), weights_, std::move(head),
      std::move(part), stream_, split_, backend_));
}

Transformer::Transformer(Architecture architecture, TransformerOptions options,
                         std::shared_ptr<const TransformerWeights> weights,
                         std::shared_ptr<const Weight> head,
                         std::shared_ptr<const Weight> head_part,
                         std::shared_ptr<const WeightStream> stream,
                         std::shared_ptr<ModelSplit> split,
                         std::shared_ptr<Backend> backend)
    : architecture_(std::move(architecture)),
      options_(std::move(options)),
      backend_(std::move(backend)),
      weights_(std::move(weights)),
      head_(std::move(head)),
      head_part_(std::move(head_part)),
      stream_(std::move(stream)),
      split_(std::move(split)),
      outputs_(options_.token_of),
      workspaces_(std::make_shared<Workspaces>()) {
  if (options_.used_vocab == 0) options_.used_vocab = logits();
  if (architecture_.rope)
    rotation_.emplace(*architecture_.rope, architecture_.head_dim);
}

ModelFacts Transformer::facts() const {
  const Weight* const head = head_part();
  return {
      .format = options_.format,
      .source_format = architecture_.source_format,
      .streamed_bytes =
          weights_->layer_bytes() + (head == nullptr ? 0 : head->bytes()),
      .disk_bytes = stream_ == nullptr ? 0 : stream_->pass_bytes(),
      .operations_per_token =
          2 *
          (weights_->layer_numbers() +
           (head == nullptr ? 0 : double{1} * head->rows() * head->columns())),
      .end_of_text = architecture_.end_of_text,
      .device = backend_->facts().device,
      .backend = backend_->description(),
      .device_peak_bytes = backend_->peak_bytes(),
      .activation_bytes = workspaces_->bytes()};
}

absl::StatusOr<std::uint64_t> Transformer::ReadFromDisk() const {
  return stream_ == nullptr ? Model::ReadFromDisk() : stream_->ReadAll();
}

absl::StatusOr<Tensor> Transformer::Angles() const {
  const std::lock_guard<std::mutex> lock(angles_turn_);
  if (angles_.has_value()) return angles_->view;
  const auto width = static_cast<std::size_t>(architecture_.head_dim);
  std::vector<float> angles(
      static_cast<std::size_t>(architecture_.context_limit) * width);
  for (int i = 0; i < architecture_.context_limit; ++i)
    rotation_->Write(i, &angles[static_cast<std::size_t>(i) * width]);
  BANYAN_ASSIGN_OR_RETURN(OwnedTensor tensor,
                          OwnedTensor::New(architecture_.context_limit,
                                           architecture_.head_dim, *backend_));
  BANYAN_RETURN_IF_ERROR(tensor.Upload(angles, *backend_));
  angles_ = std::move(tensor);
  return angles_->view;
}

std::shared_ptr<Workspace> Transformer::TakeWorkspace() const {
  const std::shared_ptr<Workspaces> pool = workspaces_;
  return {pool->Take(*backend_).release(), [pool](Workspace* workspace) {
            pool->Return(std::unique_ptr<Workspace>(workspace));
          }};
}

std::unique_ptr<Session> Transformer::NewSession() const {
  return std::make_unique<TransformerSession>(*this);
}

absl::StatusOr<std::unique_ptr<DeviceRound>> Transformer::NewDeviceRound(
    Session& session, const RoundPlan& plan,
    std::unique_ptr<DeviceDrafter> drafter) const {
  auto* own = dynamic_cast<TransformerSession*>(&session);
  Check(own != nullptr && &own->model() == this, "a session of another model");
  auto* known = dynamic_cast<TransformerDrafter*>(drafter.get());
  if (drafter != nullptr && known == nullptr)
    return absl::UnimplementedError("a drafter of another kind of model");
  (void)drafter.release();
  return TransformerRound::Create(*own, plan, absl::WrapUnique(known));
}

absl::StatusOr<std::vector<std::unique_ptr<Scores>>> Transformer::Score(
    absl::Span<const ScoreRequest> requests) const {
  std::vector<TransformerSession*> sessions;
  for (const ScoreRequest& request : requests) {
    auto* session = dynamic_cast<TransformerSession*>(request.session);
    if (session == nullptr || &session->model() != this)
      return absl::InvalidArgumentError("score: a session of another model");
    if (std::find(sessions.begin(), sessions.end(), session) != sessions.end())
      return absl::InvalidArgumentError("score: the same session twice");
    if (request.batch->size() == 0)
      return absl::InvalidArgumentError("score: a batch without tokens");
    BANYAN_RETURN_IF_ERROR(session->CheckBatch(*request.batch));
    BANYAN_RETURN_IF_ERROR(CheckTaps(*session, request.taps));
    BANYAN_RETURN_IF_ERROR(CheckVectors(request, architecture_));
    if (request.done.view != nullptr)
      BANYAN_RETURN_IF_ERROR(session->CheckDone(request.done, *request.batch));
    split_->Note(request.batch->tokens);
    split_->Note(request.batch->parents);
    sessions.push_back(session);
  }
  // Sessions that run the same layers from the same one on share a pass.
  std::vector<std::unique_ptr<Scores>> scores(requests.size());
  std::vector<bool> done(requests.size(), false);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (done[i]) continue;
    std::vector<const ScoreRequest*> together;
    std::vector<std::size_t> places;
    for (std::size_t j = i; j < requests.size(); ++j) {
      if (done[j] || sessions[j]->layers() != sessions[i]->layers() ||
          StartOf(requests[j]) != StartOf(requests[i]))
        continue;
      done[j] = true;
      places.push_back(j);
      together.push_back(&requests[j]);
    }
    BANYAN_ASSIGN_OR_RETURN(PassInput input,
                            StartOf(requests[i]) > 0
                                ? InputFromViews(*this, together)
                                : InputOfBatch(*this, together));
    TransformerPass pass(*this, std::move(input));
    BANYAN_RETURN_IF_ERROR(pass.Run());
    for (std::size_t j = 0; j < places.size(); ++j)
      scores[places[j]] = pass.ScoresOf(pass.input().parts[j]);
  }
  // Only now that nothing can fail.
  for (std::size_t i = 0; i < requests.size(); ++i)
    sessions[i]->Append(*requests[i].batch);
  return scores;
}

}  // namespace banyan
