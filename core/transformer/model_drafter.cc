#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/model/context.h"
#include "core/ops/backend.h"
#include "core/ops/kv_cache.h"
#include "core/ops/round_tables.h"
#include "core/ops/tensor.h"
#include "core/transformer/device_drafter.h"
#include "core/transformer/pass.h"
#include "core/transformer/session.h"
#include "core/transformer/transformer.h"
#include "core/transformer/workspace.h"

namespace banyan {
namespace {

class ModelDrafter : public TransformerDrafter {
 public:
  explicit ModelDrafter(TransformerSession& session)
      : session_(session),
        workspace_(std::make_shared<Workspace>(model().backend())) {}

  const Backend& backend() const override { return model().backend(); }
  int used_vocab() const override { return model().options().used_vocab; }
  int most_levels() const override { return model().context_limit(); }
  int longest_text() const override { return model().context_limit(); }

  absl::Status Begin(const Context& context) override {
    BANYAN_RETURN_IF_ERROR(session_.Commit({}));
    return session_.Prefill(absl::MakeConstSpan(context.tokens)
                                .first(context.tokens.size() - 1)
                                .subspan(static_cast<std::size_t>(length())));
  }
  absl::Status Reserve(int length, int rows) override {
    return session_.Reserve(length - session_.length() + rows);
  }
  absl::StatusOr<Tensor> Logits(int /*level*/, const DeviceRows& rows,
                                int longest) override {
    DeviceRows here = rows;
    here.length.most = longest;
    TransformerPass pass(model(), session_, here, {}, workspace_);
    BANYAN_RETURN_IF_ERROR(pass.RunOnDevice());
    return pass.logits().Rows(rows.logits_from, rows.rows - rows.logits_from);
  }

  std::vector<KvCache*> caches() override { return session_.caches(); }
  int length() const override { return session_.length(); }
  void Settle(int length) override { session_.Settle(length); }

 private:
  const Transformer& model() const { return session_.model(); }

  TransformerSession& session_;
  const std::shared_ptr<Workspace> workspace_;
};

}  // namespace

std::unique_ptr<DeviceDrafter> NewModelDrafter(TransformerSession& session) {
  return std::make_unique<ModelDrafter>(session);
}

}  // namespace banyan
