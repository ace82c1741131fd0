#include "drafters/small_model/small_model.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/context.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/ranking_rule.h"
#include "drafters/workbench.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/growing_tree.h"
#include "tree/verdict.h"

namespace banyan {

absl::StatusOr<std::unique_ptr<Drafter>> SmallModel::Build(ParamsReader& in,
                                                           Workbench& bench) {
  Params name;
  in.Required("model", name);
  BANYAN_ASSIGN_OR_RETURN(SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<const Model> model, bench.Open(name));
  if (model->vocab_size() != bench.target().vocab_size())
    return name.Error(absl::StrCat("the drafter has a vocabulary of ",
                                   model->vocab_size(), ", the target one of ",
                                   bench.target().vocab_size()));
  return std::make_unique<SmallModel>(std::move(model), std::move(rule));
}

SmallModel::SmallModel(std::shared_ptr<const Model> model, SamplingRule rule)
    : model_(std::move(model)),
      rule_(std::move(rule)),
      ranking_(RankingRule(rule_)) {}

std::vector<DraftLaw> SmallModel::laws() const {
  return {kEveryLaw.begin(), kEveryLaw.end()};
}

absl::Status SmallModel::Begin(const Context& context) {
  session_ = model_->NewSession();
  return StartRound(context);
}

// Drops what an abandoned round left, and reads the committed text up to the
// root, which is scored with the tree.
absl::Status SmallModel::StartRound(const Context& context) {
  BANYAN_RETURN_IF_ERROR(session_->Commit({}));
  rows_.clear();
  row_of_.clear();
  const absl::Span<const TokenId> text(context.tokens);
  const auto seen = static_cast<std::size_t>(session_->length());
  return session_->Prefill(text.subspan(seen, text.size() - 1 - seen));
}

absl::StatusOr<std::vector<Distribution>> SmallModel::Propose(
    const Context& context, const GrowingTree& tree,
    absl::Span<const int> nodes) {
  // Every growth proposes for its root first.
  if (nodes.front() == 0) BANYAN_RETURN_IF_ERROR(StartRound(context));
  row_of_.resize(static_cast<std::size_t>(tree.size()), -1);
  TokenBatch batch;
  for (int index : nodes) {
    const Node& node = tree.node(index);
    const int parent = index == 0
                           ? TokenBatch::kCommitted
                           : row_of_[static_cast<std::size_t>(node.parent)];
    Check(index == 0 || parent >= 0, "a proposal below a node without one");
    batch.tokens.push_back(node.token);
    batch.positions.push_back(session_->length() + node.depth);
    batch.parents.push_back(parent);
  }
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Scores> scores,
                          ScoreOne(*model_, *session_, batch));
  const bool ranked = tree.law() == DraftLaw::kDeterministic;
  const SamplingRule& rule = ranked ? ranking_ : rule_;
  std::vector<Distribution> proposals;
  std::vector<double> logits;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    row_of_[static_cast<std::size_t>(nodes[i])] =
        static_cast<int>(rows_.size());
    rows_.push_back({batch.tokens[i], batch.parents[i]});
    BANYAN_RETURN_IF_ERROR(scores->Read(static_cast<int>(i), logits));
    BANYAN_ASSIGN_OR_RETURN(
        Distribution proposal,
        rule.Apply(logits, context.tokens, TokensTo(tree, nodes[i])));
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

absl::Status SmallModel::Observe(const Context& context,
                                 const RoundOutcome& /*outcome*/) {
  // The rows that spell the committed text, as far as they go. The root of the
  // next round stays out: it is scored with its tree.
  std::vector<int> path;
  int parent = TokenBatch::kCommitted;
  const std::size_t end = context.tokens.size() - 1;
  for (auto at = static_cast<std::size_t>(session_->length()); at < end; ++at) {
    const auto next =
        std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) {
          return row.parent == parent && row.token == context.tokens[at];
        });
    if (next == rows_.end()) break;
    parent = static_cast<int>(next - rows_.begin());
    path.push_back(parent);
  }
  rows_.clear();
  row_of_.clear();
  return session_->Commit(path);
}

}  // namespace banyan
