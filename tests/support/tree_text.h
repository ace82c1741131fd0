// Draft trees in one line of text, to build and to print.
//
//   9(2(1) ~4 2 5 | 5 *3(*7))
//
// A token, then in brackets what was drawn below it: a list per trunk, divided
// by bars, the draws in the order of time, list after list. A repeated token is
// a repeated draw of one child; what lies below the child stands at its first
// place. `~4` is a dropped draw, `*3` a probe. A trunk that drew nothing leaves
// its place empty: `2( | 1)`.
#ifndef BANYAN_TESTS_SUPPORT_TREE_TEXT_H_
#define BANYAN_TESTS_SUPPORT_TREE_TEXT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {

// All proposals are uniform over the vocabulary, less what the draw kind and
// the dropped draws remove.
struct TreeTextOptions {
  int vocab_size = 8;
  std::vector<DrawKind> draw_kinds =
      {};  // by trunk; independent where left out
};

// The nodes in depth-first order. A malformed text ends the program.
std::vector<Node> ParseNodes(absl::string_view text,
                             const TreeTextOptions& options = {});
DraftTree ParseTree(absl::string_view text,
                    const TreeTextOptions& options = {});

// One trunk's tree, drawn level by level. The text has no bars.
TrunkTree ParseGrowth(absl::string_view text, int trunk = 0,
                      DrawKind draw_kind = DrawKind::kIndependent,
                      int vocab_size = 8, int now = 0);

std::string ToText(const DraftTree& tree);
std::string ToText(const TrunkTree& tree);

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_TREE_TEXT_H_
