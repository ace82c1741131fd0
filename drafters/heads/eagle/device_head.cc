#include "drafters/heads/eagle/device_head.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/model/context.h"
#include "core/model/device_round.h"
#include "core/ops/backend.h"
#include "core/ops/owned_tensor.h"
#include "core/ops/round_tables.h"
#include "core/ops/tensor.h"
#include "core/transformer/device_drafter.h"
#include "core/transformer/network.h"
#include "core/transformer/pass.h"
#include "core/transformer/pass_input.h"
#include "core/transformer/sequence.h"
#include "core/transformer/workspace.h"

namespace banyan {
namespace {

TransformerDrafterTraits TraitsOf(const DeviceHeadSource& source,
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
      : TransformerDrafter(TraitsOf(source, sequence)),
        source_(source),
        sequence_(sequence),
        read_all_(std::move(read_all)),
        workspace_(std::make_shared<Workspace>(sequence.network().backend())) {}

  absl::Status Join(const RoundTables& tables) override;
  absl::Status Begin(const Context& context) override;
  absl::StatusOr<Tensor> Logits(int level, const DeviceRows& rows,
                                int longest) override;
  absl::Status Take(const TransformerPass& target,
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

absl::Status DeviceHead::Join(const RoundTables& tables) {
  const int kept = tables.kept_rows().size;
  const int width =
      static_cast<int>(source_.spec.taps.size()) * source_.spec.state_size;
  int most = kept;
  for (int nodes : tables.widths()) most = std::max(most, nodes);
  BANYAN_ASSIGN_OR_RETURN(states_, OwnedTensor::New(kept, width, ops()));
  BANYAN_ASSIGN_OR_RETURN(normed_, OwnedTensor::New(kept, width, ops()));
  BANYAN_ASSIGN_OR_RETURN(
      vectors_, OwnedTensor::New(most, network().hidden_size(), ops()));
  BANYAN_ASSIGN_OR_RETURN(outputs_,
                          OwnedTensor::New(tables.all_draft_rows(),
                                           network().hidden_size(), ops()));
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

absl::StatusOr<Tensor> DeviceHead::Logits(int level, const DeviceRows& rows,
                                          int longest) {
  DeviceRows here = rows;
  here.length.most = longest;
  BANYAN_ASSIGN_OR_RETURN(here.vectors, Vectors(level, rows));
  BANYAN_ASSIGN_OR_RETURN(
      PassInput input,
      InputOnDevice(sequence_, here, {source_.output_tap}, workspace_));
  TransformerPass pass(network(), std::move(input));
  BANYAN_RETURN_IF_ERROR(pass.Run());
  BANYAN_RETURN_IF_ERROR(
      ops().Copy({.x = pass.states(source_.output_tap),
                  .y = outputs_.view.Rows(rows.first_pending, rows.rows)}));
  return pass.logits().Rows(rows.logits_from, rows.rows - rows.logits_from);
}

absl::Status DeviceHead::Take(const TransformerPass& target,
                              const Ints& kept_rows) {
  for (std::size_t i = 0; i < source_.spec.taps.size(); ++i)
    BANYAN_RETURN_IF_ERROR(
        ops().Copy({.x = target.states(source_.spec.taps[i])
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

}  // namespace banyan
