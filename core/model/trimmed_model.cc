#include "core/model/trimmed_model.h"

#include <cstddef>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"

namespace banyan {
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
