#include "decode/beam/text_tree.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "decode/sequence.h"

namespace banyan {

TextTree::TextTree(TokenId root) { nodes_.push_back({root, -1, 0}); }

int TextTree::Child(int parent, TokenId token) {
  const auto [found, is_new] = children_.try_emplace({parent, token}, size());
  if (is_new) nodes_.push_back({token, parent, depth(parent) + 1});
  return found->second;
}

std::vector<TokenId> TextTree::TokensTo(int node) const {
  std::vector<TokenId> tokens;
  for (; node > 0; node = parent(node)) tokens.push_back(token(node));
  std::reverse(tokens.begin(), tokens.end());
  return tokens;
}

TextReader::TextReader(const Model& model, const TextTree& texts,
                       std::unique_ptr<Session> session, int prefix)
    : model_(&model),
      texts_(&texts),
      session_(std::move(session)),
      prefix_(prefix) {}

absl::StatusOr<TextReader> TextReader::Start(const Model& model,
                                             const TextTree& texts,
                                             absl::Span<const TokenId> prompt) {
  BANYAN_ASSIGN_OR_RETURN(
      Sequence sequence,
      Sequence::Start(model, {.tokens = {prompt.begin(), prompt.end()}}, {}));
  return TextReader(model, texts, std::move(sequence.session),
                    static_cast<int>(prompt.size()) - 1);
}

bool TextReader::Cached(int node) const {
  return static_cast<std::size_t>(node) < states_.size() &&
         (At(node).committed || At(node).row != kNone);
}

bool TextReader::has_read(int node) const {
  return static_cast<std::size_t>(node) < states_.size() &&
         At(node).scores != nullptr;
}

std::pair<const Scores*, int> TextReader::RowOf(int node) const {
  Check(has_read(node), "what follows a node that was not read");
  return {At(node).scores.get(), At(node).scores_row};
}

std::vector<int> TextReader::Missing(absl::Span<const int> nodes) const {
  std::vector<int> missing;
  for (int node : nodes) {
    if (has_read(node)) continue;
    missing.push_back(node);
    for (int above = texts_->parent(node); above >= 0 && !Cached(above);
         above = texts_->parent(above))
      missing.push_back(above);
  }
  std::sort(missing.begin(), missing.end());  // parents before children
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  return missing;
}

absl::StatusOr<int> TextReader::Read(absl::Span<const int> nodes) {
  states_.resize(static_cast<std::size_t>(texts_->size()));
  const std::vector<int> missing = Missing(nodes);
  if (missing.empty()) return 0;
  const int first = session_->pending();
  TokenBatch batch;
  std::vector<int> row(states_.size(), kNone);  // of this pass
  for (int node : missing) {
    const int parent = texts_->parent(node);
    int above = TokenBatch::kCommitted;
    if (parent >= 0 && !At(parent).committed) {
      const int own = row[static_cast<std::size_t>(parent)];
      above = own == kNone ? At(parent).row : own;
    }
    row[static_cast<std::size_t>(node)] = first + batch.size();
    batch.Add(texts_->token(node), prefix_ + texts_->depth(node), above);
  }
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<const Scores> scores,
                          ScoreOne(*model_, *session_, batch));
  for (std::size_t i = 0; i < missing.size(); ++i) {
    State& state = At(missing[i]);
    state.row = first + static_cast<int>(i);
    state.scores = scores;
    state.scores_row = static_cast<int>(i);
  }
  return batch.size();
}

int TextReader::CommonNode(absl::Span<const int> live) const {
  if (live.empty()) return kNone;
  int common = live.front();
  for (int node : live)
    while (common != node) {  // a parent's number is lower
      int& later = common > node ? common : node;
      later = texts_->parent(later);
    }
  while (common >= 0 && !Cached(common)) common = texts_->parent(common);
  return common;
}

absl::Status TextReader::CommitTo(int node) {
  std::vector<int> path;
  for (; node >= 0 && !At(node).committed; node = texts_->parent(node)) {
    At(node).committed = true;
    path.push_back(At(node).row);
  }
  std::reverse(path.begin(), path.end());
  BANYAN_RETURN_IF_ERROR(session_->Commit(path));
  for (State& state : states_) state.row = kNone;
  return absl::OkStatus();
}

absl::Status TextReader::Keep(absl::Span<const int> live) {
  states_.resize(static_cast<std::size_t>(texts_->size()));
  // Which are live or below, which lead to such.
  std::vector<bool> asked(states_.size(), false);
  for (int node : live) asked[static_cast<std::size_t>(node)] = true;
  for (int node = 1; node < texts_->size(); ++node)
    if (asked[static_cast<std::size_t>(texts_->parent(node))])
      asked[static_cast<std::size_t>(node)] = true;
  std::vector<bool> needed = asked;
  for (int node : live)
    for (; node >= 0; node = texts_->parent(node))
      needed[static_cast<std::size_t>(node)] = true;
  const int common = CommonNode(live);
  for (int node = common; node >= 0; node = texts_->parent(node))
    needed[static_cast<std::size_t>(node)] = false;  // it would be committed

  int beside = 0;  // rows that committing would lose
  int others = 0;
  for (std::size_t node = 0; node < states_.size(); ++node) {
    State& state = states_[node];
    if (!asked[node]) state.scores = nullptr;
    if (state.row == kNone) continue;
    if (needed[node]) {
      ++beside;
    } else {
      ++others;
    }
  }
  if (beside > 0 && others <= model_->context_limit()) return absl::OkStatus();
  return CommitTo(common);
}

}  // namespace banyan
