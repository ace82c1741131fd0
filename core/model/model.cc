#include "core/model/model.h"

#include <limits>

#include "core/base/check.h"

namespace banyan {

absl::StatusOr<std::unique_ptr<Session>> Session::View(
    const ViewOptions& /*options*/) {
  return absl::UnimplementedError("this model has no layers to choose from");
}

absl::Status Session::Prefill(absl::Span<const TokenId> tokens) {
  return Prefill(tokens, {}, [](const Scores& /*piece*/, int /*rows*/) {
    return absl::OkStatus();
  });
}

absl::StatusOr<Distribution> Scores::Law(int row, const SamplingRule& rule,
                                         absl::Span<const TokenId> history,
                                         absl::Span<const TokenId> path) const {
  std::vector<double> logits;
  BANYAN_RETURN_IF_ERROR(Read(row, logits));
  return rule.ApplyTo(std::move(logits), history, path);
}

absl::StatusOr<std::vector<TokenLogit>> Scores::Best(int row, int k) const {
  std::vector<double> logits;
  BANYAN_RETURN_IF_ERROR(Read(row, logits));
  return BestLogits(logits, k);
}

absl::Status Scores::ReadHidden(int /*tap*/, int /*row*/,
                                absl::Span<float> /*out*/) const {
  Check(false, "hidden states that were not asked for");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Scores>> ScoreOne(const Model& model,
                                                 Session& session,
                                                 const TokenBatch& batch) {
  const ScoreRequest request = {&session, &batch};
  BANYAN_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Scores>> scores,
                          model.Score({&request, 1}));
  return std::move(scores.front());
}

absl::StatusOr<std::uint64_t> Model::ReadFromDisk() const {
  const OnDisk* const facet = facets().on_disk;
  if (facet != nullptr) return facet->ReadFromDisk();
  return absl::UnimplementedError("all weights of the model are in memory");
}

absl::StatusOr<std::unique_ptr<DeviceRound>> Model::NewDeviceRound(
    Session& session, RoundPlan plan,
    std::vector<std::unique_ptr<DeviceDrafter>> drafters) const {
  const DeviceRounds* const facet = facets().device_rounds;
  if (facet != nullptr)
    return facet->NewDeviceRound(session, std::move(plan), std::move(drafters));
  return absl::UnimplementedError("the model's device runs no rounds alone");
}

namespace {

class TrimmedScores : public Scores {
 public:
  TrimmedScores(std::unique_ptr<Scores> scores,
                const std::vector<TokenId>& tokens)
      : scores_(std::move(scores)), tokens_(tokens) {}

  int vocab_size() const override { return scores_->vocab_size(); }
  absl::Status Read(int row, std::vector<double>& logits) const override {
    std::vector<double> all;
    BANYAN_RETURN_IF_ERROR(scores_->Read(row, all));
    logits.assign(all.size(), -std::numeric_limits<double>::infinity());
    for (const TokenId token : tokens_)
      logits[static_cast<std::size_t>(token)] =
          all[static_cast<std::size_t>(token)];
    return absl::OkStatus();
  }
  absl::StatusOr<Distribution> Law(
      int row, const SamplingRule& rule, absl::Span<const TokenId> history,
      absl::Span<const TokenId> path) const override {
    std::vector<double> all;
    BANYAN_RETURN_IF_ERROR(scores_->Read(row, all));
    std::vector<double> logits;
    for (const TokenId token : tokens_)
      logits.push_back(all[static_cast<std::size_t>(token)]);
    return rule.ApplyToSome(std::move(logits), tokens_, vocab_size(), history,
                            path);
  }
  absl::Status ReadHidden(int tap, int row,
                          absl::Span<float> out) const override {
    return scores_->ReadHidden(tap, row, out);
  }

 private:
  std::unique_ptr<Scores> scores_;
  const std::vector<TokenId>& tokens_;
};

// Sessions are the whole model's.
class TrimmedModel : public Model {
 public:
  TrimmedModel(std::shared_ptr<const Model> model, std::vector<TokenId> tokens)
      : Model(model->shape()),
        model_(std::move(model)),
        tokens_(std::move(tokens)) {}

  ModelFacts facts() const override { return model_->facts(); }
  std::unique_ptr<Session> NewSession() const override {
    return model_->NewSession();
  }
  absl::StatusOr<std::vector<std::unique_ptr<Scores>>> Score(
      absl::Span<const ScoreRequest> requests) const override {
    BANYAN_ASSIGN_OR_RETURN(auto scores, model_->Score(requests));
    for (std::unique_ptr<Scores>& one : scores)
      one = std::make_unique<TrimmedScores>(std::move(one), tokens_);
    return scores;
  }
  absl::Status Finish() const override { return model_->Finish(); }

 private:
  std::shared_ptr<const Model> model_;
  std::vector<TokenId> tokens_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Model>> TrimOutputs(
    const std::shared_ptr<const Model>& model,
    const std::vector<TokenId>& tokens) {
  if (const Trimmable* const facet = model->facets().trimmable) {
    auto trimmed = facet->WithOutputs(tokens);
    if (!absl::IsUnimplemented(trimmed.status())) return trimmed;
  }
  return std::make_shared<TrimmedModel>(model, tokens);
}

}  // namespace banyan
