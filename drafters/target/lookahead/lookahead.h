// Lookahead decoding: the target guesses ahead of itself in the same pass that
// judges what it guessed before.
//
// Beside every tree the pass scores a window of tokens to come as probes, which
// yields new grams for a pool. At a node the candidates are what comes next in
// the pool's grams that begin with the root and then the node's path, newest
// first, with halving scores. So the tree's policy decides how many of them are
// drafted, and a verifier of deterministic draws judges them.
//
// Cases. A gram is a guess and no distribution: the draws are deterministic,
// and the text follows the target's distribution whatever the pool holds, at
// any sampling rule. The window itself iterates on the target's best tokens, as
// published, so at a temperature it guesses the likeliest text. Where the
// context has no room for the window none is planted, and the pool stays as it
// is. Not covered: a pool kept from prompt to prompt, and a window spread over
// several devices.
//
// Reference: Fu, Bailis, Stoica, Zhang, "Break the Sequential Dependency of LLM
// Inference Using Lookahead Decoding" (arXiv:2402.02057), algorithm 2. Its N is
// `level`, its W `window`, its G `guesses`; the defaults are those of the
// published program's example.
#ifndef BANYAN_DRAFTERS_TARGET_LOOKAHEAD_LOOKAHEAD_H_
#define BANYAN_DRAFTERS_TARGET_LOOKAHEAD_LOOKAHEAD_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {

// GramPool: grams by their first token, the newest few of each.
class GramPool {
 public:
  // Keeps at most `most` of each first token.
  explicit GramPool(std::size_t most) : most_(most) {}

  void Clear() { grams_.clear(); }
  // Makes the gram, of two tokens or more, the newest of its first token. One
  // that is there already moves; the oldest makes room.
  void Add(absl::Span<const TokenId> gram);

  // The distinct tokens that come after `first` and then `path` in the pool's
  // grams, those of newer ones first.
  std::vector<TokenId> After(TokenId first,
                             absl::Span<const TokenId> path) const;

 private:
  using Gram = std::vector<TokenId>;  // without its first token

  std::size_t most_;
  absl::flat_hash_map<TokenId, std::vector<Gram>> grams_;  // newest first
};

// JacobiWindow: guesses of the text to come, of many places at once, which each
// pass of the target brings one step further.
//
// Its columns begin one place apart. Column 0 begins with the root, column i
// with the i-th token of a chain below it, its head. Every column holds as many
// tokens, one a level, head included, and the window is full with level - 1 of
// them: what the target would say after a column's last token then makes a gram
// of `level` tokens of each column.
//
//          root    h1    h2        heads: a chain below the root
//           |      |     |
//           a1     b1    c1        columns: chains below their heads
//           |      |     |
//           a2     b2    c2
struct WindowSize {
  int columns = 7;  // of a full window; at least 1
  int level = 5;    // at least 2

  // How deep below the root it reaches, in whatever state.
  int Depth() const { return columns + level - 3; }
  // How many rows it has at most, the root not counted.
  int MostRows() const;
};

class JacobiWindow {
 public:
  explicit JacobiWindow(const WindowSize& size);

  // Starts with one level: the last of `tokens`, in their order, as often as it
  // takes. Requires a token.
  void Begin(absl::Span<const TokenId> tokens);

  // Adds its rows as probes below the root, depth first.
  void Plant(TrunkTree& tree) const;
  // How many rows that is.
  int rows() const;
  // By column, where its last token stands among these; -1: it is the root.
  std::vector<int> Ends() const;

  // By column, what the target says after its end: one step of the window, by
  // one place of the text. Gives the grams, if it was full.
  std::vector<std::vector<TokenId>> Advance(TokenId root,
                                            absl::Span<const TokenId> next);

 private:
  int levels() const { return static_cast<int>(columns_.front().size()); }
  bool full() const { return levels() == size_.level - 1; }

  WindowSize size_;
  // By column its tokens. The head of column 0 stands for whatever the root is.
  std::vector<std::vector<TokenId>> columns_;
};

struct LookaheadOptions {
  WindowSize window = {};
  int guesses = 7;  // that the pool keeps of each first token
  bool pool_from_prompt = false;
};

class Lookahead : public Drafter {
 public:
  // At most kMostCandidates guesses.
  Lookahead(int vocab_size, const LookaheadOptions& options);

  std::unique_ptr<DraftSession> NewSession() const override;
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override;

 private:
  int vocab_size_;
  LookaheadOptions options_;
};

// Which nodes of a merged tree are a drafter's probes.

// The probes of one trunk, in the order of nodes: depth first, siblings as they
// were planted.
std::vector<int> PlantedBy(int trunk, const DraftTree& tree);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TARGET_LOOKAHEAD_LOOKAHEAD_H_
