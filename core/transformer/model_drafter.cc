#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/model/context.h"
#include "core/model/device_round.h"
#include "core/ops/round_tables.h"
#include "core/ops/tensor.h"
#include "core/transformer/device_drafter.h"
#include "core/transformer/pass.h"
#include "core/transformer/pass_input.h"
#include "core/transformer/session.h"
#include "core/transformer/transformer.h"
#include "core/transformer/workspace.h"

namespace banyan {
namespace {

TransformerDrafterTraits TraitsOf(TransformerSession& session) {
  const Transformer& model = session.model();
  return {.backend = &model.backend(),
          .used_vocab = model.outputs().all() ? model.options().used_vocab
                                              : model.vocab_size(),
          .columns = model.outputs().ByToken(model.vocab_size()),
          .most_levels = model.context_limit(),
          .longest_text = model.context_limit(),
          .session = &session};
}

class ModelDrafter : public TransformerDrafter {
 public:
  explicit ModelDrafter(TransformerSession& session)
      : TransformerDrafter(TraitsOf(session)),
        session_(session),
        workspace_(std::make_shared<Workspace>(session.model().backend())) {}

  absl::Status Join(const RoundTables& /*tables*/) override {
    return absl::OkStatus();
  }
  absl::Status Begin(const Context& context) override {
    BANYAN_RETURN_IF_ERROR(session_.Commit({}));
    return session_.Prefill(
        absl::MakeConstSpan(context.tokens)
            .first(context.tokens.size() - 1)
            .subspan(static_cast<std::size_t>(session_.length())));
  }
  absl::StatusOr<Tensor> Logits(int /*level*/, const DeviceRows& rows,
                                int longest) override {
    DeviceRows here = rows;
    here.length.most = longest;
    BANYAN_ASSIGN_OR_RETURN(
        PassInput input,
        InputOnDevice(session_.model(), session_, here, {}, workspace_));
    TransformerPass pass(session_.model(), std::move(input));
    BANYAN_RETURN_IF_ERROR(pass.Run());
    return pass.logits().Rows(rows.logits_from, rows.rows - rows.logits_from);
  }
  absl::Status Take(const TransformerPass& /*target*/,
                    const Ints& /*kept_rows*/) override {
    return absl::OkStatus();
  }

 private:
  TransformerSession& session_;
  const std::shared_ptr<Workspace> workspace_;
};

}  // namespace

std::unique_ptr<DeviceDrafter> NewModelDrafter(TransformerSession& session) {
  return std::make_unique<ModelDrafter>(session);
}

}  // namespace banyan
