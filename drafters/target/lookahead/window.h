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
#ifndef BANYAN_DRAFTERS_TARGET_LOOKAHEAD_WINDOW_H_
#define BANYAN_DRAFTERS_TARGET_LOOKAHEAD_WINDOW_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "core/base/token.h"
#include "tree/trunk_tree.h"

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TARGET_LOOKAHEAD_WINDOW_H_
