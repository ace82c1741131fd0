#include "drafters/heads/eagle/head.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/checkpoint.h"
#include "core/model/device_round.h"
#include "core/model/model.h"
#include "core/model/trimmed_model.h"
#include "core/ops/backend.h"
#include "core/ops/owned_tensor.h"
#include "core/transformer/network.h"
#include "core/transformer/transformer.h"
#include "drafters/heads/eagle/device_head.h"
#include "drafters/heads/eagle/layouts.h"
#include "drafters/heads/eagle/reduction.h"

namespace banyan {
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
