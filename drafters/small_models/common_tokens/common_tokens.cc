#include "drafters/small_models/common_tokens/common_tokens.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "drafters/rows.h"
#include "tree/derive.h"
#include "tree/verdict.h"

namespace banyan {

CommonTokens::CommonTokens(int vocab_size, OtherModel model,
                           const SamplingRule& rule)
    : Drafter({.draw_kinds = EveryDrawKind(), .proposes_ahead = true},
              /*carried=*/nullptr),
      vocab_size_(vocab_size),
      model_(std::move(model)),
      rules_(rule) {
  const std::vector<TokenId>& banned = rule.options().banned;
  for (const VocabularyMap::Pair& pair : model_.map->common())
    if (std::find(banned.begin(), banned.end(), pair.target) == banned.end())
      drafted_.push_back(pair);
}

class CommonTokensSession : public QuietSession {
 public:
  explicit CommonTokensSession(const CommonTokens& drafter)
      : QuietSession(SessionFacets{}),
        drafter_(drafter),
        reader_(drafter.model_.model, drafter.model_.map) {}

  absl::Status Begin(const Context& context) override {
    return reader_.Begin(context.tokens);
  }
  absl::Status Observe(const Context& context,
                       const RoundOutcome& /*outcome*/) override {
    return reader_.Follow(context.tokens);
  }

  // What is scored for one sequence: the rows of those nodes that can be, last.
  struct Asked {
    TokenBatch batch;
    std::vector<int> nodes;
  };
  absl::StatusOr<Asked> Ask(const DraftRequest& request);
  absl::StatusOr<Proposals> Answer(const DraftRequest& request,
                                   const Asked& asked, const Scores* scores);
  Session& session() const { return reader_.session(); }

 private:
  bool CanScore(const TrunkTree& tree, int node,
                absl::Span<const int> asked) const;

  const CommonTokens& drafter_;
  OwnReader reader_;
};

std::unique_ptr<DraftSession> CommonTokens::NewSession() const {
  return std::make_unique<CommonTokensSession>(*this);
}

absl::StatusOr<std::vector<Proposals>> CommonTokens::Propose(
    absl::Span<const DraftRequest> requests) {
  std::vector<CommonTokensSession::Asked> asked(requests.size());
  std::vector<ScoreRequest> wanted;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto& own = SessionOf<CommonTokensSession>(requests[i]);
    BANYAN_ASSIGN_OR_RETURN(asked[i], own.Ask(requests[i]));
    if (asked[i].nodes.empty()) continue;
    wanted.push_back({.session = &own.session(),
                      .batch = &asked[i].batch,
                      .logits_from = asked[i].batch.size() -
                                     static_cast<int>(asked[i].nodes.size())});
  }
  std::vector<std::unique_ptr<Scores>> scores;
  if (!wanted.empty()) {
    BANYAN_ASSIGN_OR_RETURN(scores, model_.model->Score(wanted));
  }
  std::vector<Proposals> all;
  std::size_t scored = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Scores* rows =
        asked[i].nodes.empty() ? nullptr : scores[scored++].get();
    BANYAN_ASSIGN_OR_RETURN(Proposals laws,
                            SessionOf<CommonTokensSession>(requests[i])
                                .Answer(requests[i], asked[i], rows));
    all.push_back(std::move(laws));
  }
  return all;
}

absl::StatusOr<CommonTokensSession::Asked> CommonTokensSession::Ask(
    const DraftRequest& request) {
  Asked asked;
  for (int node : request.nodes)
    if (CanScore(*request.tree, node, asked.nodes)) asked.nodes.push_back(node);
  if (asked.nodes.empty()) return asked;
  const int text = static_cast<int>(reader_.tokens().size());
  // A drafting begins.
  if (asked.nodes.front() == 0) {
    BANYAN_ASSIGN_OR_RETURN(asked.batch, reader_.StartRound());
    // The text's last token is the root's, which the tree adds.
    asked.batch.tokens.pop_back();
    asked.batch.positions.pop_back();
    asked.batch.parents.pop_back();
  }
  reader_.pending().AddTo(
      asked.batch, *request.tree, asked.nodes, text - 1, [&](int node) {
        return node == 0 ? reader_.tokens().back()
                         : *drafter_.model_.map->DrafterOf(
                               request.tree->node(node).token);
      });
  return asked;
}

// Whether the node has a row: it fits, its token is a common one, and so are
// those above it.
bool CommonTokensSession::CanScore(const TrunkTree& tree, int node,
                                   absl::Span<const int> asked) const {
  const Node& own = tree.node(node);
  if (!reader_.Fits(own.depth)) return false;
  if (node == 0) return true;
  const bool above =
      std::find(asked.begin(), asked.end(), own.parent) != asked.end() ||
      reader_.pending().Has(own.parent);
  return above && drafter_.model_.map->DrafterOf(own.token).has_value();
}

absl::StatusOr<Proposals> CommonTokensSession::Answer(
    const DraftRequest& request, const Asked& asked, const Scores* scores) {
  if (scores != nullptr) reader_.pending().Scored(asked.batch, asked.nodes);
  const int before = asked.batch.size() - static_cast<int>(asked.nodes.size());
  Proposals laws;
  std::vector<double> own;
  for (int node : request.nodes) {
    const auto found = std::find(asked.nodes.begin(), asked.nodes.end(), node);
    if (found == asked.nodes.end()) {
      laws.push_back({Distribution::Sparse(drafter_.vocab_size_, {}, {})});
      continue;
    }
    const int row = before + static_cast<int>(found - asked.nodes.begin());
    BANYAN_RETURN_IF_ERROR(scores->Read(row, own));
    BANYAN_ASSIGN_OR_RETURN(Distribution law,
                            drafter_.LawOf(request, node, own));
    laws.push_back({std::move(law)});
  }
  return laws;
}

absl::StatusOr<Distribution> CommonTokens::LawOf(
    const DraftRequest& request, int node, absl::Span<const double> own) const {
  std::vector<double> logits(static_cast<std::size_t>(vocab_size_),
                             -std::numeric_limits<double>::infinity());
  bool is_left = false;
  for (const VocabularyMap::Pair& pair : drafted_) {
    const double logit = own[static_cast<std::size_t>(pair.drafter)];
    logits[static_cast<std::size_t>(pair.target)] = logit;
    // A logit that is none is told by the rule.
    is_left = is_left || logit != -std::numeric_limits<double>::infinity();
  }
  if (!is_left) return Distribution::Sparse(vocab_size_, {}, {});
  const TrunkTree& tree = *request.tree;
  return rules_.Of(tree.draw_kind())
      .ApplyTo(std::move(logits), request.context->tokens,
               TokensTo(tree, node));
}

namespace {

BuiltDrafter BuildCommonTokens(ParamsReader& in, Workbench& bench) {
  const Params* name = in.TakeRequired("model");
  BANYAN_ASSIGN_OR_RETURN(const SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  BANYAN_ASSIGN_OR_RETURN(OtherModel model, bench.OpenOther(*name));
  if (model.map->common().empty())
    return name->Error(
        "no token of this model is one of the target's: by the tokens both "
        "have it drafts nothing");
  return std::make_unique<CommonTokens>(bench.target().vocab_size(),
                                        std::move(model), rule);
}

}  // namespace

DrafterRow CommonTokensRow() {
  return {.name = "common_tokens",
          .sentence =
              "Token-level intersection: a model of another vocabulary, "
              "restricted to the tokens that both have.",
          .draw_kinds = EveryDrawKind(),
          .keys = {NameKey("model",
                           "A name of `models`, with a tokenizer of its own."),
                   SamplingKey()},
          .build = BuildCommonTokens,
          .examples = {"{model: fewer}", "{model: more}",
                       "{model: others, sampling: {temperature: 0.5}}"},
          .model_key = "model"};
}

}  // namespace banyan
