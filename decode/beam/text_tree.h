// Continuations of one prompt, as a tree, and a model's scores of its nodes.
#ifndef BANYAN_DECODE_BEAM_TEXT_TREE_H_
#define BANYAN_DECODE_BEAM_TEXT_TREE_H_

#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/model.h"

namespace banyan {

// Node 0 is the prompt's last token. A node follows its parent in the text, and
// the parent's number is lower. Siblings are distinct tokens.
class TextTree {
 public:
  explicit TextTree(TokenId root);

  // The child with this token, made if there is none.
  int Child(int parent, TokenId token);

  int size() const { return static_cast<int>(nodes_.size()); }
  TokenId token(int node) const { return At(node).token; }
  int parent(int node) const { return At(node).parent; }  // the root's is -1
  int depth(int node) const { return At(node).depth; }    // the root's is 0
  // The tokens after the root, down to `node`.
  std::vector<TokenId> TokensTo(int node) const;

 private:
  struct Node {
    TokenId token;
    int parent;
    int depth;
  };
  const Node& At(int node) const {
    return nodes_[static_cast<std::size_t>(node)];
  }

  std::vector<Node> nodes_;
  std::map<std::pair<int, TokenId>, int> children_;  // by parent and token
};

// Scores the nodes of a tree of texts with one model. The row after a node is
// computed once and kept while it may be asked for.
//
// A session has one committed path. Texts that differ are pending rows below
// it, and a later pass adds its rows below those. The beginning that all live
// texts share is committed, and the other rows are dropped, only if no other
// row is needed, or if the rows no longer needed outnumber the model's context.
// A dropped row that is still needed is scored again.
class TextReader {
 public:
  // Reads the prompt but for its last token, the tree's root. The tree and the
  // model outlive the reader. Fails as Sequence::Start.
  static absl::StatusOr<TextReader> Start(const Model& model,
                                          const TextTree& texts,
                                          absl::Span<const TokenId> prompt);

  // Scores those of `nodes` that have not been read, in one pass, with those
  // above them that the cache lacks. The rows of the pass; 0 if there was none.
  absl::StatusOr<int> Read(absl::Span<const int> nodes);
  bool has_read(int node) const;
  // Where what follows the node was computed. Requires that it has been read.
  std::pair<const Scores*, int> RowOf(int node) const;

  // From here on only `live` nodes and those below them are asked for.
  absl::Status Keep(absl::Span<const int> live);

  const Model& model() const { return *model_; }

 private:
  struct State {
    int row = kNone;  // among the session's pending rows
    bool committed = false;
    // What follows it; null if it has not been read or is no longer needed.
    std::shared_ptr<const Scores> scores = nullptr;
    int scores_row = kNone;
  };
  static constexpr int kNone = -1;

  TextReader(const Model& model, const TextTree& texts,
             std::unique_ptr<Session> session, int prefix);

  const State& At(int node) const {
    return states_[static_cast<std::size_t>(node)];
  }
  State& At(int node) { return states_[static_cast<std::size_t>(node)]; }
  bool Cached(int node) const;
  // The nodes to score so that these can be read, ascending.
  std::vector<int> Missing(absl::Span<const int> nodes) const;
  // The deepest cached node at or above all of `live`; kNone: there is none.
  int CommonNode(absl::Span<const int> live) const;
  // Commits all down to `node`, unless it is kNone, and drops the other rows.
  absl::Status CommitTo(int node);

  const Model* model_;
  const TextTree* texts_;
  std::unique_ptr<Session> session_;
  int prefix_;                 // the prompt's tokens before the root
  std::vector<State> states_;  // by node, as far as they were looked at
};

}  // namespace banyan

#endif  // BANYAN_DECODE_BEAM_TEXT_TREE_H_
