// Jacobi iteration over the tokens to come (Fu et al., "Break the Sequential
// Dependency of LLM Inference Using Lookahead Decoding", arXiv:2402.02057, 3.2,
// whose N is our level and whose W our columns).
//
// Recurrence. Let c_i(0), ..., c_i(k-1) be column i, c_0(0) the root, and g_i
// the target's best token after it, given the root, the heads c_1(0), ...,
// c_i(0) and the column. Each pass moves the root on by one place.
//
//   full, k = N - 1   (c_i(0), ..., c_i(k-1), g_i) is a gram of N tokens, and
//                     c_i becomes c_i(1), ..., c_i(k-1), g_i: the trajectory's
//                     oldest level goes, the columns stay where they are.
//   filling, k < N-1  c_i becomes column i - 1 with g_i after it; the first
//                     column goes. So the window begins with W + N - 2 columns
//                     of one token and is full, with W, after N - 2 passes.
//
// Either way a token keeps its distance from the root, which has moved by one.
// Where several tokens were accepted the window still moves by one, also in the
// published program (ALWAYS_FWD_ONE): its grams may occur anywhere in the text.
//
// Published, the first level is drawn at random from the prompt's tokens; here
// it is the prompt's last ones in their order, for chance comes from a Chance
// alone.
#include "drafters/target/lookahead/window.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/token.h"
#include "tree/trunk_tree.h"

namespace banyan {

int WindowSize::MostRows() const {
  int most = 0;
  for (int levels = 1; levels < level; ++levels)
    most = std::max(most, (columns + level - 1 - levels) * levels - 1);
  return most;
}

JacobiWindow::JacobiWindow(const WindowSize& size)
    : size_(size),
      columns_(static_cast<std::size_t>(size.columns + size.level - 2)) {
  Check(size.columns >= 1 && size.level >= 2, "a window of one gram at least");
}

void JacobiWindow::Begin(absl::Span<const TokenId> tokens) {
  Check(!tokens.empty(), "a window begins with some token");
  columns_.assign(static_cast<std::size_t>(size_.columns + size_.level - 2),
                  {});
  const std::size_t heads = columns_.size() - 1;
  const absl::Span<const TokenId> last =
      tokens.last(std::min(std::max<std::size_t>(heads, 1), tokens.size()));
  columns_.front() = {last.front()};
  for (std::size_t i = 0; i < heads; ++i)
    columns_[i + 1] = {last[i % last.size()]};
}

void JacobiWindow::Plant(TrunkTree& tree) const {
  int head = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (i > 0) head = tree.AddProbe(head, columns_[i].front());
    int above = head;
    for (std::size_t level = 1; level < columns_[i].size(); ++level)
      above = tree.AddProbe(above, columns_[i][level]);
  }
}

int JacobiWindow::rows() const {
  return static_cast<int>(columns_.size()) * levels() - 1;
}

// Depth first, a head's column stands before the next head.
std::vector<int> JacobiWindow::Ends() const {
  std::vector<int> ends;
  for (std::size_t i = 0; i < columns_.size(); ++i)
    ends.push_back((static_cast<int>(i) + 1) * levels() - 2);
  return ends;
}

std::vector<std::vector<TokenId>> JacobiWindow::Advance(
    TokenId root, absl::Span<const TokenId> next) {
  Check(next.size() == columns_.size(), "a token after each column");
  columns_.front().front() = root;
  const bool was_full = full();
  for (std::size_t i = 0; i < columns_.size(); ++i)
    columns_[i].push_back(next[i]);
  if (!was_full) {
    columns_.erase(columns_.begin());
    return {};
  }
  std::vector<std::vector<TokenId>> grams = columns_;
  for (std::vector<TokenId>& column : columns_) column.erase(column.begin());
  return grams;
}

}  // namespace banyan
