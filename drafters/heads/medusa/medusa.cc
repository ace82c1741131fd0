#include "drafters/heads/medusa/medusa.h"

#include <cstddef>
#include <utility>

#include "core/base/messages.h"
#include "core/base/params.h"
#include "core/checkpoint/architecture.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "drafters/draft_vocabulary.h"
#include "drafters/heads/medusa/heads_file.h"
#include "drafters/rows.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

absl::StatusOr<GrowableHeads> OpenGrowableMedusa(const std::string& directory,
                                                 const GrowingTarget& target) {
  BANYAN_ASSIGN_OR_RETURN(
      const std::unique_ptr<MedusaFile> file,
      MedusaFile::Open(directory, target.hidden_size, target.vocab_size));
  GrowableHeads heads = {.file = file->file()};
  const HeadAxis state = target.States(1);
  const auto add = [&](const WeightSource& source, const HeadAxis& rows,
                       const HeadAxis& columns) {
    heads.tensors.push_back({.name = source.tensor,
                             .stored = file->Tensor(source),
                             .rows = rows,
                             .columns = columns});
  };
  for (int head = 0; head < file->heads(); ++head) {
    for (int block = 0; block < file->blocks(); ++block) {
      add(file->Linear(head, block), state, state);
      add(file->Bias(head, block), state, {});
    }
    if (file->own_outputs()) add(file->Output(head), {}, state);
  }
  heads.summary =
      absl::StrCat(Counted(file->heads(), "Medusa head"), " of ",
                   Counted(file->blocks(), "block"), ", ",
                   file->own_outputs() ? "each with an output matrix"
                                       : "with the model's output matrix");
  heads.facts = {{"heads", file->heads()},
                 {"blocks", file->blocks()},
                 {"own_matrices", file->own_outputs()}};
  return heads;
}

namespace {

// Of the token before the root.
absl::Span<const float> LastState(const Context& context) {
  return context.features.At(kAfterFinalNorm, context.features.rows - 1);
}

}  // namespace

Medusa::Medusa(std::shared_ptr<const MedusaHeads> heads, SamplingRule rule)
    : Drafter({.draw_kinds = EveryDrawKind(),
               .proposes_ahead = true,
               .depth_heads = heads->count(),
               .taps = {kAfterFinalNorm}},
              /*carried=*/nullptr),
      heads_(std::move(heads)),
      rules_(std::move(rule)) {}

class MedusaSession : public QuietSession, private DeviceCounterpart {
 public:
  explicit MedusaSession(const Medusa& drafter)
      : QuietSession({.on_device = this}), drafter_(drafter) {}

  absl::Status Begin(const Context& /*context*/) override {
    return absl::OkStatus();
  }
  absl::Status Observe(const Context& /*context*/,
                       const RoundOutcome& /*outcome*/) override {
    logits.clear();
    return absl::OkStatus();
  }

  // By head, of this round; empty until they were asked for.
  std::vector<std::vector<double>> logits;

 private:
  absl::StatusOr<DeviceDraft> Make(DrawKind draw_kind) override {
    DeviceDraft draft = {nullptr, drafter_.rules_.Of(draw_kind),
                         /*keeps_features=*/true};
    BANYAN_ASSIGN_OR_RETURN(draft.part, drafter_.heads_->OnDevice());
    return draft;
  }
  void Resume(const Context& /*context*/) override { logits.clear(); }

  const Medusa& drafter_;
};

std::unique_ptr<DraftSession> Medusa::NewSession() const {
  return std::make_unique<MedusaSession>(*this);
}

absl::StatusOr<std::vector<Proposals>> Medusa::Propose(
    absl::Span<const DraftRequest> requests) {
  std::vector<MedusaSession*> unread;
  std::vector<absl::Span<const float>> states;
  for (const DraftRequest& request : requests) {
    auto& own = SessionOf<MedusaSession>(request);
    // Nothing is known before the first state.
    if (!own.logits.empty() || request.context->features.rows == 0) continue;
    unread.push_back(&own);
    states.push_back(LastState(*request.context));
  }
  if (!unread.empty()) {  // one reading of the heads for all
    std::vector<std::vector<std::vector<double>>> logits;
    BANYAN_RETURN_IF_ERROR(heads_->ScoreAll(states, logits));
    for (std::size_t i = 0; i < unread.size(); ++i)
      unread[i]->logits = std::move(logits[i]);
  }
  std::vector<Proposals> all;
  for (const DraftRequest& request : requests) {
    BANYAN_ASSIGN_OR_RETURN(
        Proposals laws,
        DepthLaws(SessionOf<MedusaSession>(request).logits, heads_->outputs(),
                  rules_.Of(request.tree->draw_kind()), request));
    all.push_back(std::move(laws));
  }
  return all;
}

namespace {

BuiltDrafter BuildMedusa(ParamsReader& in, Workbench& bench) {
  const Params* name = in.TakeRequired("heads");
  const Params* vocabulary = in.Take(kVocabularyKey);
  BANYAN_ASSIGN_OR_RETURN(SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<const MedusaHeads> heads,
                          bench.OpenFolder<MedusaHeads>(
                              "heads", *name, [&](const std::string& folder) {
                                return LoadMedusaHeads(folder, bench.target());
                              }));
  BANYAN_ASSIGN_OR_RETURN(
      heads, Trimmed<MedusaHeads>(
                 std::move(heads), vocabulary, bench,
                 [&](const std::shared_ptr<const MedusaHeads>& whole,
                     const std::vector<TokenId>& tokens) {
                   return TrimHeads(whole, tokens, bench.target().vocab_size());
                 }));
  return std::make_unique<Medusa>(std::move(heads), std::move(rule));
}

}  // namespace

DrafterRow MedusaRow() {
  return {.name = "medusa",
          .sentence =
              "Medusa: one head per depth on the target's last hidden state; "
              "no pass of its own.",
          .draw_kinds = EveryDrawKind(),
          .keys = {NameKey("heads",
                           "A name of `models`: a directory of Medusa heads."),
                   VocabularyKey(), SamplingKey()},
          .build = BuildMedusa,
          .examples = {"{heads: heads}",
                       "{heads: heads, vocabulary: vocabulary.json}"},
          .folder_key = "heads",
          .model_key = "heads",
          .takes_vocabulary = true,
          .heads = {.growable = OpenGrowableMedusa},
          .on_device = true};
}

}  // namespace banyan
