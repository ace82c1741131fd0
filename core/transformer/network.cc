#include "core/transformer/network.h"

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/checkpoint.h"
#include "core/ops/backend.h"
#include "core/ops/owned_tensor.h"
#include "core/ops/tensor.h"
#include "core/ops/weight.h"
#include "core/pack/pack_file.h"
#include "core/transformer/model_split.h"
#include "core/transformer/weight_stream.h"
#include "core/transformer/weights.h"
#include "core/transformer/workspace.h"

namespace banyan {
namespace {

// Returns this rank's rows of an output head; null if it has none.
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

absl::StatusOr<std::unique_ptr<const Network>> Network::Load(
    const Checkpoint& checkpoint, const TransformerOptions& options,
    std::shared_ptr<Backend> backend, const BorrowedWeights& borrowed,
    const Network* resident) {
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
  return absl::WrapUnique(new Network(
      {.architecture = architecture,
       .options = options,
       .backend = std::move(backend),
       .weights =
           std::make_shared<const TransformerWeights>(std::move(weights)),
       .head = std::move(head),
       .head_part = std::move(part),
       .stream = std::move(stream),
       .split = split}));
}

absl::StatusOr<std::unique_ptr<const Network>> Network::WithOutputs(
    absl::Span<const TokenId> tokens) const {
  const std::vector<int> columns = outputs_.ByToken(vocab_size());
  std::vector<int> rows;
  Parts parts = parts_;
  parts.options.token_of.clear();
  parts.options.used_vocab = 0;
  for (const TokenId token : tokens) {
    const int row =
        outputs_.all() ? token : columns[static_cast<std::size_t>(token)];
    if (row < 0 || (outputs_.all() && row >= options().used_vocab)) continue;
    rows.push_back(row);
    parts.options.token_of.push_back(token);
  }
  if (rows.empty())
    return absl::InvalidArgumentError(
        "expected a token that the model has a logit for, found none");
  BANYAN_ASSIGN_OR_RETURN(parts.head, RowsOf(head(), rows, backend()));
  BANYAN_ASSIGN_OR_RETURN(parts.head_part,
                          PartOf(parts.head, split(), backend()));
  return absl::WrapUnique(new Network(std::move(parts)));
}

Network::Network(Parts parts)
    : parts_(std::move(parts)),
      outputs_(parts_.options.token_of),
      workspaces_(std::make_shared<Workspaces>()) {
  if (parts_.options.used_vocab == 0) parts_.options.used_vocab = logits();
  if (architecture().rope)
    rotation_.emplace(*architecture().rope, architecture().head_dim);
}

absl::StatusOr<Tensor> Network::Angles() const {
  const std::lock_guard<std::mutex> lock(angles_turn_);
  if (angles_.has_value()) return angles_->view;
  const int head_dim = architecture().head_dim;
  const auto width = static_cast<std::size_t>(head_dim);
  std::vector<float> angles(static_cast<std::size_t>(context_limit()) * width);
  for (int i = 0; i < context_limit(); ++i)
    rotation_->Write(i, &angles[static_cast<std::size_t>(i) * width]);
  BANYAN_ASSIGN_OR_RETURN(
      OwnedTensor tensor,
      OwnedTensor::New(context_limit(), head_dim, backend()));
  BANYAN_RETURN_IF_ERROR(tensor.Upload(angles, backend()));
  angles_ = std::move(tensor);
  return angles_->view;
}

std::shared_ptr<Workspace> Network::TakeWorkspace() const {
  const std::shared_ptr<Workspaces> pool = workspaces_;
  return {pool->Take(backend()).release(), [pool](Workspace* workspace) {
            pool->Return(std::unique_ptr<Workspace>(workspace));
          }};
}

}  // namespace banyan
