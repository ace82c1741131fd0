#include "drafters/session_drafter.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/check.h"
#include "core/prob/distribution.h"
#include "tree/derive.h"

namespace banyan {

void PendingTree::Clear() {
  rows_.clear();
  row_of_.clear();
}

bool PendingTree::Has(int node) const {
  const auto at = static_cast<std::size_t>(node);
  return at < row_of_.size() && row_of_[at] >= 0;
}

int PendingTree::RowOf(int node) const {
  Check(Has(node), "a proposal below a node without one");
  return row_of_[static_cast<std::size_t>(node)];
}

void PendingTree::AddTo(TokenBatch& batch, const TrunkTree& tree,
                        absl::Span<const int> nodes, int root_position) const {
  AddTo(batch, tree, nodes, root_position,
        [&tree](int node) { return tree.node(node).token; });
}

void PendingTree::AddTo(TokenBatch& batch, const TrunkTree& tree,
                        absl::Span<const int> nodes, int root_position,
                        absl::FunctionRef<TokenId(int node)> token_of) const {
  // Rows are numbered through all batches; -1 below the committed text, alone
  // at the end of a batch that is empty and follows none.
  const int first = static_cast<int>(rows_.size()) + batch.size();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = tree.node(nodes[i]);
    int parent = nodes[i] == 0 ? first - 1 : -1;
    if (nodes[i] > 0) {
      const auto asked = nodes.subspan(0, i);
      const auto found = std::find(asked.begin(), asked.end(), node.parent);
      parent = found == asked.end()
                   ? RowOf(node.parent)
                   : first + static_cast<int>(found - asked.begin());
    }
    batch.Add(token_of(nodes[i]), root_position + node.depth, parent);
  }
}

std::vector<int> PendingTree::RowsOf(const DraftTree& tree) const {
  std::map<std::pair<int, TokenId>, int> row_at;
  for (std::size_t row = 0; row < rows_.size(); ++row)
    row_at.emplace(std::make_pair(rows_[row].parent, rows_[row].token),
                   static_cast<int>(row));
  std::vector<int> rows(static_cast<std::size_t>(tree.size()), -1);
  for (int i = 0; i < tree.size(); ++i) {
    const Node& node = tree.node(i);
    const int parent =
        i == 0 ? -1 : rows[static_cast<std::size_t>(node.parent)];
    if (node.probe() || (i > 0 && parent < 0)) continue;
    const auto found = row_at.find({parent, node.token});
    if (found != row_at.end())
      rows[static_cast<std::size_t>(i)] = found->second;
  }
  return rows;
}

void PendingTree::Scored(const TokenBatch& batch, absl::Span<const int> nodes) {
  const std::size_t first = rows_.size() + batch.tokens.size() - nodes.size();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto node = static_cast<std::size_t>(nodes[i]);
    row_of_.resize(std::max(row_of_.size(), node + 1), -1);
    row_of_[node] = static_cast<int>(first + i);
  }
  for (std::size_t i = 0; i < batch.tokens.size(); ++i)
    rows_.push_back({batch.tokens[i], batch.parents[i]});
}

std::vector<int> PendingTree::PathOf(absl::Span<const TokenId> tokens) const {
  std::vector<int> path;
  int parent = TokenBatch::kCommitted;
  for (TokenId token : tokens) {
    const auto next =
        std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) {
          return row.parent == parent && row.token == token;
        });
    if (next == rows_.end()) break;
    parent = static_cast<int>(next - rows_.begin());
    path.push_back(parent);
  }
  return path;
}

SessionDrafter::SessionDrafter(std::shared_ptr<const Model> model,
                               SamplingRule rule)
    : Drafter({.draw_kinds = EveryDrawKind(),
               .longest_text = model->context_limit(),
               .proposes_ahead = true},
              /*carried=*/nullptr),
      model_(std::move(model)),
      rules_(std::move(rule)) {}

absl::StatusOr<std::vector<Proposals>> SessionDrafter::Propose(
    absl::Span<const DraftRequest> requests) {
  std::vector<TokenBatch> batches(requests.size());
  std::vector<ScoreRequest> asked;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto& own = SessionOf<ModelSession>(requests[i]);
    BANYAN_ASSIGN_OR_RETURN(batches[i], own.BatchOf(requests[i]));
    asked.push_back({.session = &own.session(),
                     .batch = &batches[i],
                     .logits_from = batches[i].size() -
                                    static_cast<int>(requests[i].nodes.size()),
                     .done = own.DoneFor(requests[i].nodes)});
  }
  BANYAN_ASSIGN_OR_RETURN(const auto scores, model_->Score(asked));
  std::vector<Proposals> all;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    BANYAN_ASSIGN_OR_RETURN(Proposals laws,
                            LawsOf(requests[i], batches[i], *scores[i]));
    all.push_back(std::move(laws));
  }
  return all;
}

// The distributions after the nodes of a batch that was scored; the last rows
// are theirs.
absl::StatusOr<Proposals> SessionDrafter::LawsOf(const DraftRequest& request,
                                                 const TokenBatch& batch,
                                                 const Scores& scores) const {
  const TrunkTree& tree = *request.tree;
  const int before = batch.size() - static_cast<int>(request.nodes.size());
  SessionOf<ModelSession>(request).pending().Scored(batch, request.nodes);
  Proposals laws;
  for (std::size_t i = 0; i < request.nodes.size(); ++i) {
    BANYAN_ASSIGN_OR_RETURN(
        Distribution law,
        scores.Law(before + static_cast<int>(i), rules_.Of(tree.draw_kind()),
                   request.context->tokens, TokensTo(tree, request.nodes[i])));
    laws.push_back({std::move(law)});
  }
  return laws;
}

void ModelSession::SetSession(std::unique_ptr<Session> session) {
  session_ = std::move(session);
  pending_.Clear();
}

// The nodes' tokens, below the rows of their parents; at the root, after what
// of the committed text was not read yet.
absl::StatusOr<TokenBatch> ModelSession::BatchOf(const DraftRequest& request) {
  TokenBatch batch;
  if (request.nodes.front() == 0) {  // a drafting begins
    BANYAN_RETURN_IF_ERROR(StartRound(*request.context));
    batch = TokenBatch::Chain(Unread(*request.context), session_->length());
  }
  pending_.AddTo(batch, *request.tree, request.nodes,
                 static_cast<int>(request.context->tokens.size()) - 1);
  return batch;
}

absl::Span<const TokenId> ModelSession::Unread(const Context& context) const {
  const absl::Span<const TokenId> text =
      absl::MakeConstSpan(context.tokens).first(context.tokens.size() - 1);
  // A device's round may have read what a stop rule then cut.
  return text.subspan(
      std::min(text.size(), static_cast<std::size_t>(session_->length())));
}

// Drops what an abandoned round left, and reads what is long unread.
absl::Status ModelSession::StartRound(const Context& context) {
  BANYAN_RETURN_IF_ERROR(session_->Commit({}));
  pending_.Clear();
  const absl::Span<const TokenId> unread = Unread(context);
  return unread.size() > kReadWithRoot ? session_->Prefill(unread)
                                       : absl::OkStatus();
}

}  // namespace banyan
