#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/ops/op_args.h"
#include "core/ops/round_args.h"
#include "core/transformer/device_drafter.h"
#include "core/transformer/network.h"
#include "core/transformer/pass.h"
#include "core/transformer/pass_input.h"
#include "core/transformer/sequence.h"
#include "core/transformer/transformer.h"

namespace banyan {
namespace {

TransformerDrafterTraits TraitsOf(TransformerSequence& sequence) {
  const Network& network = sequence.network();
  return {.backend = &network.backend(),
          .used_vocab = network.outputs().all() ? network.options().used_vocab
                                                : network.vocab_size(),
          .columns = network.outputs().ByToken(network.vocab_size()),
          .most_levels = network.context_limit(),
          .longest_text = network.context_limit(),
          .sequence = &sequence};
}

class ModelDrafter : public TransformerDrafter {
 public:
  // Requires that `sequence` is the session's.
  ModelDrafter(Session& session, TransformerSequence& sequence)
      : TransformerDrafter(TraitsOf(sequence)),
        session_(session),
        sequence_(sequence),
        workspace_(std::make_shared<Workspace>(sequence.network().backend())) {}

  absl::Status Begin(const Context& context) override {
    BANYAN_RETURN_IF_ERROR(session_.Commit({}));
    return session_.Prefill(
        absl::MakeConstSpan(context.tokens)
            .first(context.tokens.size() - 1)
            .subspan(static_cast<std::size_t>(session_.length())));
  }
  absl::StatusOr<std::vector<Tensor>> Logits(
      int /*level*/, absl::Span<const DraftTurn> turns) override {
    std::vector<DevicePart> parts;
    for (const DraftTurn& turn : turns)
      parts.push_back({turn.drafter->traits().sequence, turn.rows});
    BANYAN_ASSIGN_OR_RETURN(
        PassInput input,
        InputOnDevice(sequence_.network(), parts, {}, workspace_));
    TransformerPass pass(sequence_.network(), std::move(input));
    BANYAN_RETURN_IF_ERROR(pass.Run());
    return pass.LogitsByPart();
  }
  absl::Status Take(const TransformerPass& /*target*/, const PassPart& /*part*/,
                    const Ints& /*kept_rows*/) override {
    return absl::OkStatus();
  }

 private:
  Session& session_;
  TransformerSequence& sequence_;
  const std::shared_ptr<Workspace> workspace_;
};

}  // namespace

std::unique_ptr<DeviceDrafter> NewModelDrafter(Session& session) {
  TransformerSequence* const sequence = SequenceOf(&session);
  if (sequence == nullptr) return nullptr;
  return std::make_unique<ModelDrafter>(session, *sequence);
}

}  // namespace banyan
