#include "drafters/heads/eagle/head.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/checkpoint/architecture.h"
#include "core/model/context.h"
#include "core/ops/device_memory.h"
#include "core/ops/round_args.h"
#include "core/transformer/device_drafter.h"
#include "core/transformer/pass.h"
#include "core/transformer/pass_input.h"
#include "core/transformer/transformer.h"

namespace banyan {

absl::StatusOr<EagleReduction> EagleReduction::Load(
    const EagleSpec& spec, const Checkpoint& checkpoint, WeightFormat format,
    Backend& backend) {
  EagleReduction reduction;
  if (!spec.reduce.present()) return reduction;
  reduction.epsilon_ = static_cast<float>(spec.network.norm_epsilon);
  BANYAN_ASSIGN_OR_RETURN(reduction.weight_,
                          LoadMatrix(checkpoint, spec.reduce, format, backend));
  for (const WeightSource& source : spec.state_norms) {
    BANYAN_ASSIGN_OR_RETURN(RowVector norm,
                            LoadVector(checkpoint, source, backend));
    reduction.state_norms_.push_back(std::move(norm));
  }
  if (spec.joint_norm.present()) {
    BANYAN_ASSIGN_OR_RETURN(reduction.joint_norm_,
                            LoadVector(checkpoint, spec.joint_norm, backend));
  }
  return reduction;
}

absl::Status EagleReduction::Run(const Tensor& states, const Tensor& normed,
                                 const Tensor& vectors, DeviceOps& ops) const {
  const auto norm = [&](const RowVector& weight, int first, int size) {
    return ops.Norm({.x = states.Columns(first, size),
                     .weight = weight.view(),
                     .bias = {},
                     .epsilon = epsilon_,
                     .y = normed.Columns(first, size)});
  };
  int first = 0;
  for (const RowVector& weight : state_norms_) {
    BANYAN_RETURN_IF_ERROR(norm(weight, first, weight.size));
    first += weight.size;
  }
  if (joint_norm_.size > 0)
    BANYAN_RETURN_IF_ERROR(norm(joint_norm_, 0, joint_norm_.size));
  const bool norms = !state_norms_.empty() || joint_norm_.size > 0;
  return ops.Linear({.x = norms ? normed : states,
                     .weight = weight_.get(),
                     .bias = {},
                     .y = vectors});
}

namespace {

TransformerDrafterTraits HeadTraitsOf(const DeviceHeadSource& source,
                                      TransformerSequence& sequence) {
  const Network& network = sequence.network();
  std::vector<int> taps = source.spec.taps;
  std::sort(taps.begin(), taps.end());
  return {
      .backend = &source.target.backend(),
      .used_vocab = source.target.options().used_vocab,
      .columns = network.outputs().ByToken(source.target.vocab_size()),
      .most_levels = network.context_limit(),
      // A text has a pair fewer than tokens.
      .longest_text = network.context_limit() + 1,
      // The first pair's token may be hidden, which the host does.
      .shortest_text = network.architecture().input.hides_first_token ? 3 : 2,
      .taps = std::move(taps),
      .sequence = &sequence,
      .rereads = true};
}

class DeviceHead : public TransformerDrafter {
 public:
  DeviceHead(const DeviceHeadSource& source, TransformerSequence& sequence,
             std::function<absl::Status()> read_all)
      : TransformerDrafter(HeadTraitsOf(source, sequence)),
        source_(source),
        sequence_(sequence),
        read_all_(std::move(read_all)),
        workspace_(std::make_shared<Workspace>(sequence.network().backend())) {}

  absl::Status Join(const DrafterRoom& room) override;
  absl::Status Begin(const Context& context) override;
  absl::StatusOr<std::vector<Tensor>> Logits(
      int level, absl::Span<const DraftTurn> turns) override;
  absl::Status Take(const TransformerPass& target, const PassPart& part,
                    const Ints& kept_rows) override;

 private:
  const Network& network() const { return sequence_.network(); }
  Backend& ops() const { return network().backend(); }
  // The columns of the states that tap i of the spec fills.
  Tensor Part(std::size_t i) const {
    return states_.view.Columns(static_cast<int>(i) * source_.spec.state_size,
                                source_.spec.state_size);
  }
  // What the rows of a level start from.
  absl::StatusOr<Tensor> Vectors(int level, const DeviceRows& rows);

  const DeviceHeadSource source_;
  TransformerSequence& sequence_;
  const std::function<absl::Status()> read_all_;
  const std::shared_ptr<Workspace> workspace_;
  // The target's at the rows that the last round kept; what the reduction makes
  // of them on the way; what the rows of a level start from; what came out of
  // all rows of the round.
  OwnedTensor states_, normed_, vectors_, outputs_;
};

absl::Status DeviceHead::Join(const DrafterRoom& room) {
  const int width =
      static_cast<int>(source_.spec.taps.size()) * source_.spec.state_size;
  BANYAN_ASSIGN_OR_RETURN(states_, OwnedTensor::New(room.kept, width, ops()));
  BANYAN_ASSIGN_OR_RETURN(normed_, OwnedTensor::New(room.kept, width, ops()));
  BANYAN_ASSIGN_OR_RETURN(vectors_,
                          OwnedTensor::New(std::max(room.kept, room.level),
                                           network().hidden_size(), ops()));
  BANYAN_ASSIGN_OR_RETURN(
      outputs_, OwnedTensor::New(room.all, network().hidden_size(), ops()));
  return absl::OkStatus();
}

absl::Status DeviceHead::Begin(const Context& context) {
  BANYAN_RETURN_IF_ERROR(read_all_());
  // The root's pair has the last of the target's states.
  const auto rows = static_cast<std::size_t>(states_.view.rows);
  const auto columns = static_cast<std::size_t>(states_.view.columns);
  std::vector<float> states(rows * columns);
  auto to = states.end() - static_cast<std::ptrdiff_t>(columns);
  for (int tap : source_.spec.taps) {
    const absl::Span<const float> state =
        context.features.At(tap, context.features.rows - 1);
    to = std::copy_n(state.begin(), source_.spec.state_size, to);
  }
  return states_.Upload(states, ops());
}

absl::StatusOr<Tensor> DeviceHead::Vectors(int level, const DeviceRows& rows) {
  if (level == 0) {
    if (!source_.reduction.present()) return states_.view;
    const Tensor vectors = vectors_.view.Rows(0, rows.rows);
    BANYAN_RETURN_IF_ERROR(
        source_.reduction.Run(states_.view, normed_.view, vectors, ops()));
    return vectors;
  }
  const Tensor vectors = vectors_.view.Rows(0, rows.rows);
  BANYAN_RETURN_IF_ERROR(
      ops().Copy({.x = outputs_.view, .y = vectors, .rows = rows.parents}));
  return vectors;
}

absl::StatusOr<std::vector<Tensor>> DeviceHead::Logits(
    int level, absl::Span<const DraftTurn> turns) {
  const auto head = [](const DraftTurn& turn) {
    return static_cast<DeviceHead*>(turn.drafter);
  };
  std::vector<DevicePart> parts;
  for (const DraftTurn& turn : turns) {
    parts.push_back({&head(turn)->sequence_, turn.rows});
    BANYAN_ASSIGN_OR_RETURN(parts.back().rows.vectors,
                            head(turn)->Vectors(level, turn.rows));
  }
  BANYAN_ASSIGN_OR_RETURN(
      PassInput input,
      InputOnDevice(network(), parts, {source_.output_tap}, workspace_));
  TransformerPass pass(network(), std::move(input));
  BANYAN_RETURN_IF_ERROR(pass.Run());
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const DeviceRows& rows = turns[i].rows;
    BANYAN_RETURN_IF_ERROR(
        ops().Copy({.x = pass.States(pass.input().parts[i], source_.output_tap),
                    .y = head(turns[i])->outputs_.view.Rows(rows.first_pending,
                                                            rows.rows)}));
  }
  return pass.LogitsByPart();
}

absl::Status DeviceHead::Take(const TransformerPass& target,
                              const PassPart& part, const Ints& kept_rows) {
  for (std::size_t i = 0; i < source_.spec.taps.size(); ++i)
    BANYAN_RETURN_IF_ERROR(
        ops().Copy({.x = target.States(part, source_.spec.taps[i])
                             .Columns(0, source_.spec.state_size),
                    .y = Part(i),
                    .rows = kept_rows}));
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<DeviceDrafter> NewDeviceHead(
    const DeviceHeadSource& source, TransformerSequence& sequence,
    std::function<absl::Status()> read_all) {
  return std::make_unique<DeviceHead>(source, sequence, std::move(read_all));
}

namespace {

class TransformerHead : public EagleHead {
 public:
  TransformerHead(EagleSpec spec, const Network& target)
      : spec_(std::move(spec)), target_(target) {}

  // `token_of`: EagleFile's.
  absl::Status Load(const Checkpoint& checkpoint,
                    std::vector<TokenId> token_of);

  const Model& network() const override { return *network_; }
  std::vector<int> taps() const override { return spec_.taps; }
  int output_tap() const override {
    return spec_.feeds_back_normed ? kAfterFinalNorm : network_->layers();
  }
  absl::Status VectorsOf(absl::Span<const float> states, int rows,
                         std::vector<float>& vectors) const override;
  std::unique_ptr<DeviceDrafter> OnDevice(
      Session& session, std::function<absl::Status()> read_all) const override {
    return NewDeviceHead({.spec = spec_,
                          .reduction = reduction_,
                          .target = target_,
                          .output_tap = output_tap()},
                         *SequenceOf(&session), std::move(read_all));
  }

 private:
  const EagleSpec spec_;
  const Network& target_;
  std::unique_ptr<Transformer> network_;
  EagleReduction reduction_;
};

absl::Status TransformerHead::Load(const Checkpoint& checkpoint,
                                   std::vector<TokenId> token_of) {
  TransformerOptions options = {.format = target_.options().format};
  // Tokens that only pad the target's vocabulary have no logit here either.
  const int used = target_.options().used_vocab;
  if (token_of.empty()) options.used_vocab = used;
  for (TokenId& token : token_of)
    if (token >= used) token = -1;
  options.token_of = std::move(token_of);
  BANYAN_ASSIGN_OR_RETURN(
      network_, Transformer::Load(checkpoint, options, target_.shared_backend(),
                                  target_.weights().Lend()));
  BANYAN_ASSIGN_OR_RETURN(
      reduction_, EagleReduction::Load(spec_, checkpoint, options.format,
                                       target_.backend()));
  return absl::OkStatus();
}

absl::Status TransformerHead::VectorsOf(absl::Span<const float> states,
                                        int rows,
                                        std::vector<float>& vectors) const {
  // Of each state as many numbers as the head reads.
  const auto whole = static_cast<std::size_t>(target_.hidden_size());
  const auto read = static_cast<std::size_t>(spec_.state_size);
  std::vector<float> parts;
  for (std::size_t at = 0; at < states.size(); at += whole)
    parts.insert(parts.end(), states.begin() + static_cast<std::ptrdiff_t>(at),
                 states.begin() + static_cast<std::ptrdiff_t>(at + read));
  if (!reduction_.present()) return EagleHead::VectorsOf(parts, rows, vectors);
  Backend& backend = target_.backend();
  BANYAN_ASSIGN_OR_RETURN(
      OwnedTensor all, OwnedTensor::New(rows, reduction_.columns(), backend));
  BANYAN_ASSIGN_OR_RETURN(OwnedTensor out,
                          OwnedTensor::New(rows, reduction_.rows(), backend));
  BANYAN_RETURN_IF_ERROR(all.Upload(parts, backend));
  BANYAN_RETURN_IF_ERROR(reduction_.Run(all.view, all.view, out.view, backend));
  return out.Download(vectors, backend);
}

// Another head with its network's logits for some tokens alone.
class TrimmedHead : public EagleHead {
 public:
  TrimmedHead(std::shared_ptr<const EagleHead> head,
              std::shared_ptr<const Model> network)
      : head_(std::move(head)), network_(std::move(network)) {}

  const Model& network() const override { return *network_; }
  std::vector<int> taps() const override { return head_->taps(); }
  int output_tap() const override { return head_->output_tap(); }
  absl::Status VectorsOf(absl::Span<const float> states, int rows,
                         std::vector<float>& vectors) const override {
    return head_->VectorsOf(states, rows, vectors);
  }
  std::unique_ptr<DeviceDrafter> OnDevice(
      Session& session, std::function<absl::Status()> read_all) const override {
    return head_->OnDevice(session, std::move(read_all));
  }

 private:
  std::shared_ptr<const EagleHead> head_;
  std::shared_ptr<const Model> network_;
};

}  // namespace

absl::Status EagleHead::VectorsOf(absl::Span<const float> states, int /*rows*/,
                                  std::vector<float>& vectors) const {
  vectors.assign(states.begin(), states.end());
  return absl::OkStatus();
}

std::unique_ptr<DeviceDrafter> EagleHead::OnDevice(
    Session& /*session*/, std::function<absl::Status()> /*read_all*/) const {
  return nullptr;
}

absl::StatusOr<std::shared_ptr<const EagleHead>> TrimHead(
    const std::shared_ptr<const EagleHead>& head,
    const std::vector<TokenId>& tokens) {
  // The network lives as long as its head.
  const std::shared_ptr<const Model> network(head, &head->network());
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<const Model> trimmed,
                          TrimOutputs(network, tokens));
  return std::make_shared<TrimmedHead>(head, std::move(trimmed));
}

absl::StatusOr<std::unique_ptr<EagleHead>> LoadEagleHead(
    const std::string& directory, const Model& target) {
  return LoadEagleHead(directory, target, [](EagleSpec& /*spec*/) {});
}

absl::StatusOr<std::unique_ptr<EagleHead>> LoadEagleHead(
    const std::string& directory, const Model& target, TurnEagle turn) {
  const Network* const network = target.facets().network;
  if (network == nullptr)
    return absl::InvalidArgumentError("a head needs a transformer as target");
  BANYAN_ASSIGN_OR_RETURN(EagleFile file,
                          OpenEagleFile(directory,
                                        {.hidden_size = target.hidden_size(),
                                         .layers = target.layers(),
                                         .vocab_size = target.vocab_size()},
                                        turn));
  auto head = std::make_unique<TransformerHead>(std::move(file.spec), *network);
  BANYAN_RETURN_IF_ERROR(
      head->Load(*file.checkpoint, std::move(file.token_of)));
  return head;
}

}  // namespace banyan
