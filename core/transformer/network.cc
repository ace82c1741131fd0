#include "core/transformer/network.h"

#include <cmath>
#include <numbers>

#include "absl/memory/memory.h"
#include "core/pack/pack_file.h"

namespace banyan {

namespace {

// Llama 3's rule: long waves are stretched by `factor`, short ones kept, and
// those between blended.
double ScaleLlama3(const Rope& rope, double frequency) {
  const double wavelength = 2 * std::numbers::pi / frequency;
  const double turns = rope.original_context / wavelength;
  if (turns > rope.high_frequency_factor) return frequency;
  if (turns < rope.low_frequency_factor) return frequency / rope.factor;
  const double blend = (turns - rope.low_frequency_factor) /
                       (rope.high_frequency_factor - rope.low_frequency_factor);
  return frequency * ((1 - blend) / rope.factor + blend);
}

}  // namespace

Rotation::Rotation(const Rope& rope, int head_dim) {
  for (int i = 0; i < head_dim / 2; ++i) {
    double frequency =
        std::pow(rope.theta, -2.0 * i / static_cast<double>(head_dim));
    if (rope.scaling == Rope::Scaling::kLinear) frequency /= rope.factor;
    if (rope.scaling == Rope::Scaling::kLlama3)
      frequency = ScaleLlama3(rope, frequency);
    frequencies_.push_back(static_cast<float>(frequency));
  }
}

void Rotation::Write(int position, float* out) const {
  const std::size_t half = frequencies_.size();
  for (std::size_t i = 0; i < half; ++i) {
    const float angle = static_cast<float>(position) * frequencies_[i];
    out[i] = static_cast<float>(std::cos(double{angle}));
    out[half + i] = static_cast<float>(std::sin(double{angle}));
  }
}

absl::StatusOr<Tensor> Workspace::Matrix(Place place, int rows, int columns) {
  return MatrixIn(buffers_[place], rows, columns);
}

absl::StatusOr<Tensor> Workspace::Kept(std::size_t number, int rows,
                                       int columns) {
  if (kept_.size() <= number) kept_.resize(number + 1);
  return MatrixIn(kept_[number], rows, columns);
}

absl::StatusOr<Tensor> Workspace::MatrixIn(std::unique_ptr<Buffer>& buffer,
                                           int rows, int columns) {
  const auto stride = static_cast<std::size_t>(PadToLane(columns));
  BANYAN_RETURN_IF_ERROR(MakeRoom(
      buffer, static_cast<std::size_t>(rows) * stride * sizeof(float)));
  return Tensor{buffer.get(), 0, rows, columns, stride};
}

absl::StatusOr<Ints> Workspace::List(Place place,
                                     const std::vector<int>& values) {
  const absl::Span<const std::byte> bytes(
      reinterpret_cast<const std::byte*>(values.data()),
      values.size() * sizeof(int));
  std::unique_ptr<Buffer>& buffer = buffers_[place];
  BANYAN_RETURN_IF_ERROR(MakeRoom(buffer, bytes.size()));
  BANYAN_RETURN_IF_ERROR(memory_.Upload(bytes, *buffer, 0));
  return Ints{buffer.get(), 0, static_cast<int>(values.size())};
}

absl::Status Workspace::MakeRoom(std::unique_ptr<Buffer>& buffer,
                                 std::size_t bytes) {
  const std::size_t before = buffer == nullptr ? 0 : buffer->bytes();
  if (before >= bytes && buffer != nullptr) return absl::OkStatus();
  BANYAN_ASSIGN_OR_RETURN(buffer, memory_.Allocate(bytes));
  bytes_ += buffer->bytes() - before;
  return absl::OkStatus();
}

std::unique_ptr<Workspace> Workspaces::Take(DeviceMemory& memory) {
  const std::lock_guard<std::mutex> lock(turn_);
  if (free_.empty()) return std::make_unique<Workspace>(memory);
  std::unique_ptr<Workspace> workspace = std::move(free_.back());
  free_.pop_back();
  return workspace;
}

void Workspaces::Return(std::unique_ptr<Workspace> workspace) {
  const std::lock_guard<std::mutex> lock(turn_);
  free_.push_back(std::move(workspace));
}

std::size_t Workspaces::bytes() const {
  const std::lock_guard<std::mutex> lock(turn_);
  std::size_t bytes = 0;
  for (const std::unique_ptr<Workspace>& workspace : free_)
    bytes += workspace->bytes();
  return bytes;
}

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
