#include "drafters/small_models/small_model/small_model.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/params.h"
#include "core/model/context.h"
#include "core/transformer/device_drafter.h"
#include "drafters/draft_vocabulary.h"
#include "drafters/rows.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

class SmallModelSession : public ModelSession, private DeviceCounterpart {
 public:
  explicit SmallModelSession(const SmallModel& drafter)
      : ModelSession({.on_device = this}), drafter_(drafter) {}

  absl::Status Begin(const Context& context) override {
    SetSession(drafter_.model()->NewSession());
    if (context.tokens.size() >
        static_cast<std::size_t>(drafter_.traits().longest_text))
      return absl::OkStatus();  // and nothing will be asked
    return session().Prefill(
        absl::MakeConstSpan(context.tokens).first(context.tokens.size() - 1));
  }
  absl::Status Observe(const Context& context,
                       const RoundOutcome& /*outcome*/) override {
    if (session().pending() == 0) pending().Clear();  // of an abandoned round
    // The root of the next round stays out: it is scored with its tree.
    const std::vector<int> path = pending().PathOf(Unread(context));
    pending().Clear();
    return session().Commit(path);
  }

 private:
  absl::StatusOr<DeviceDraft> Make(DrawKind draw_kind) override {
    std::unique_ptr<DeviceDrafter> part = NewModelDrafter(session());
    if (part == nullptr) return DeviceDraft();
    return DeviceDraft{std::move(part), drafter_.rules().Of(draw_kind)};
  }
  void Resume(const Context& /*context*/) override { pending().Clear(); }

  const SmallModel& drafter_;
};

}  // namespace

SmallModel::SmallModel(std::shared_ptr<const Model> model, SamplingRule rule)
    : SessionDrafter(std::move(model), std::move(rule)) {}

std::unique_ptr<DraftSession> SmallModel::NewSession() const {
  return std::make_unique<SmallModelSession>(*this);
}

namespace {

BuiltDrafter BuildSmallModel(ParamsReader& in, Workbench& bench) {
  const Params* name = in.TakeRequired("model");
  const Params* vocabulary = in.Take(kVocabularyKey);
  BANYAN_ASSIGN_OR_RETURN(SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<const Model> model,
                          bench.Open(*name));
  BANYAN_ASSIGN_OR_RETURN(
      model, Trimmed<Model>(std::move(model), vocabulary, bench, TrimOutputs));
  return std::make_unique<SmallModel>(std::move(model), std::move(rule));
}

}  // namespace

DrafterRow SmallModelRow() {
  return {.name = "small_model",
          .sentence =
              "A small language model of the target's vocabulary, with a KV "
              "cache of its own.",
          .draw_kinds = EveryDrawKind(),
          .keys = {NameKey("model", "A name of `models`."), VocabularyKey(),
                   SamplingKey()},
          .build = BuildSmallModel,
          .examples = {"{model: draft}",
                       "{model: draft, vocabulary: vocabulary.json}"},
          .model_key = "model",
          .takes_vocabulary = true,
          .on_device = true};
}

}  // namespace banyan
