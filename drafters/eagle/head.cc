#include "drafters/eagle/head.h"

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/checkpoint.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/owned_tensor.h"
#include "core/ops/tensor.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "core/transformer/transformer.h"
#include "core/transformer/weights.h"
#include "drafters/eagle/layouts.h"

namespace banyan {

absl::StatusOr<std::unique_ptr<EagleHead>> EagleHead::Load(
    const std::string& directory, const Model& target) {
  return Load(directory, target, [](EagleSpec& /*spec*/) {});
}

absl::StatusOr<std::unique_ptr<EagleHead>> EagleHead::Load(
    const std::string& directory, const Model& target, TurnEagle turn) {
  const auto* transformer = dynamic_cast<const Transformer*>(&target);
  if (transformer == nullptr)
    return absl::InvalidArgumentError("a head needs a transformer as target");
  BANYAN_ASSIGN_OR_RETURN(
      EagleFile file,
      OpenEagleFile(directory,
                    {.hidden_size = target.hidden_size(),
                     .layers = target.layers(),
                     .vocab_size = target.vocab_size()},
                    turn));
  auto head = absl::WrapUnique(
      new EagleHead(std::move(file.spec), std::move(file.token_of),
                    target.vocab_size(), target.hidden_size()));
  TransformerOptions options = {.format = transformer->options().format};
  // Tokens that only pad the target's vocabulary have no logit here either.
  if (head->token_of_.empty())
    options.used_vocab = transformer->options().used_vocab;
  BANYAN_ASSIGN_OR_RETURN(
      head->network_,
      Transformer::Load(*file.checkpoint, options,
                        transformer->shared_backend(),
                        transformer->weights().Lend()));
  BANYAN_RETURN_IF_ERROR(head->LoadReduction(*file.checkpoint));
  for (TokenId& token : head->token_of_)
    if (token >= transformer->options().used_vocab) token = -1;
  return head;
}

absl::Status EagleHead::LoadReduction(const Checkpoint& checkpoint) {
  if (!spec_.reduce.present()) return absl::OkStatus();
  Backend& backend = network_->backend();
  BANYAN_ASSIGN_OR_RETURN(reduce_,
                          LoadMatrix(checkpoint, spec_.reduce,
                                     network_->options().format, backend));
  for (const WeightSource& source : spec_.state_norms) {
    BANYAN_ASSIGN_OR_RETURN(RowVector norm,
                            LoadVector(checkpoint, source, backend));
    state_norms_.push_back(std::move(norm));
  }
  if (spec_.joint_norm.present()) {
    BANYAN_ASSIGN_OR_RETURN(
        joint_norm_, LoadVector(checkpoint, spec_.joint_norm, backend));
  }
  return absl::OkStatus();
}

absl::Status EagleHead::VectorsOf(absl::Span<const float> states, int rows,
                                  std::vector<float>& vectors) const {
  if (!reduce_) {  // the one state is the vector
    vectors.assign(states.begin(), states.end());
    return absl::OkStatus();
  }
  Backend& backend = network_->backend();
  BANYAN_ASSIGN_OR_RETURN(
      OwnedTensor all, OwnedTensor::New(rows, reduce_->columns(), backend));
  BANYAN_ASSIGN_OR_RETURN(OwnedTensor out,
                          OwnedTensor::New(rows, reduce_->rows(), backend));
  BANYAN_RETURN_IF_ERROR(all.Upload(states, backend));
  const auto norm = [&](const Tensor& x, const RowVector& weight) {
    return backend.Norm(
        {.x = x,
         .weight = weight.view(),
         .bias = {},
         .epsilon = static_cast<float>(spec_.network.norm_epsilon),
         .y = x});
  };
  for (std::size_t i = 0; i < state_norms_.size(); ++i)
    BANYAN_RETURN_IF_ERROR(norm(
        all.view.Columns(static_cast<int>(i) * state_size_, state_size_),
        state_norms_[i]));
  if (joint_norm_.size > 0)
    BANYAN_RETURN_IF_ERROR(norm(all.view, joint_norm_));
  BANYAN_RETURN_IF_ERROR(backend.Linear(
      {.x = all.view, .weight = reduce_.get(), .bias = {}, .y = out.view}));
  return out.Download(vectors, backend);
}

absl::StatusOr<Distribution> EagleHead::Law(
    const Scores& scores, int row, const SamplingRule& rule,
    absl::Span<const TokenId> history, absl::Span<const TokenId> path) const {
  if (token_of_.empty()) return scores.Law(row, rule, history, path);
  std::vector<double> own;
  BANYAN_RETURN_IF_ERROR(scores.Read(row, own));
  std::vector<double> logits(static_cast<std::size_t>(vocab_size_),
                             -std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < token_of_.size(); ++i)
    if (token_of_[i] >= 0)
      logits[static_cast<std::size_t>(token_of_[i])] = own[i];
  return rule.ApplyTo(std::move(logits), history, path);
}

}  // namespace banyan
