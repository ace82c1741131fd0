#include "tests/support/tree_text.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <utility>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"

namespace banyan {
namespace {

// What the text says, before repeated draws are merged.
struct Written {
  TokenId token = 0;
  char mark = ' ';  // '~' dropped, '*' probe
  std::vector<std::vector<Written>> lists;

  bool probe() const { return mark == '*'; }
};

class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text) {}

  Written All() {
    Written root = One();
    Skip();
    Check(at_ == text_.size(), absl::StrCat("text goes on: ", text_));
    return root;
  }

 private:
  void Skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool Take(char c) {
    Skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Written One() {
    Written node;
    if (Take('~')) node.mark = '~';
    if (Take('*')) node.mark = '*';
    Skip();
    const std::size_t first = at_;
    while (at_ < text_.size() &&
           std::isdigit(static_cast<unsigned char>(text_[at_])) != 0)
      node.token = 10 * node.token + (text_[at_++] - '0');
    Check(at_ > first, absl::StrCat("no token at ", first, ": ", text_));
    if (!Take('(')) return node;
    node.lists.emplace_back();
    while (!Take(')')) {
      if (Take('|'))
        node.lists.emplace_back();
      else
        node.lists.back().push_back(One());
    }
    return node;
  }

  absl::string_view text_;
  std::size_t at_ = 0;
};

// The distributions that the draws of one list are judged by, in the order of
// time.
class Proposals {
 public:
  Proposals(const std::vector<Written>& list, DrawKind draw_kind,
            int vocab_size)
      : draw_kind_(draw_kind), vocab_size_(vocab_size) {
    for (const Written& draw : list)
      if (draw.mark == '~') dropped_.push_back(draw.token);
  }

  Distribution Next(TokenId token) {
    if (draw_kind_ == DrawKind::kDeterministic && dropped(token))
      return Distribution::Sparse(vocab_size_, {}, {});
    if (draw_kind_ == DrawKind::kDeterministic)
      return Distribution::OneHot(vocab_size_, token);
    Distribution judged_by = Uniform(true);
    if (draw_kind_ == DrawKind::kWithoutReplacement) drawn_.push_back(token);
    return judged_by;
  }
  // Of what is not drawn yet; with `kept`, restricted to what is not dropped.
  Distribution Uniform(bool kept) const {
    std::vector<double> masses(static_cast<std::size_t>(vocab_size_), 1);
    for (TokenId token : drawn_) masses[static_cast<std::size_t>(token)] = 0;
    const double all =
        static_cast<double>(vocab_size_) - static_cast<double>(drawn_.size());
    for (double& mass : masses) mass /= all;
    if (kept)
      for (TokenId token : dropped_)
        masses[static_cast<std::size_t>(token)] = 0;
    return Distribution::Dense(std::move(masses));
  }

 private:
  bool dropped(TokenId token) const {
    return std::find(dropped_.begin(), dropped_.end(), token) != dropped_.end();
  }

  DrawKind draw_kind_;
  int vocab_size_;
  std::vector<TokenId> dropped_;
  std::vector<TokenId> drawn_;
};

DrawKind LawOf(const TreeTextOptions& options, std::size_t trunk) {
  return trunk < options.draw_kinds.size() ? options.draw_kinds[trunk]
                                           : DrawKind::kIndependent;
}

// The drawn children in the order of first draws, then the probes.
std::vector<std::pair<const Written*, int>> ChildrenOf(const Written& written) {
  std::vector<std::pair<const Written*, int>> drawn, probes;
  for (std::size_t trunk = 0; trunk < written.lists.size(); ++trunk) {
    for (const Written& draw : written.lists[trunk]) {
      const bool repeated =
          std::any_of(drawn.begin(), drawn.end(), [&draw](const auto& child) {
            return child.first->token == draw.token;
          });
      if (draw.probe())
        probes.emplace_back(&draw, static_cast<int>(trunk));
      else if (draw.mark != '~' && !repeated)
        drawn.emplace_back(&draw, Node::kNoProbe);
      else
        Check(draw.lists.empty(), "children below a repeated or dropped draw");
    }
  }
  drawn.insert(drawn.end(), probes.begin(), probes.end());
  return drawn;
}

class Placer {
 public:
  explicit Placer(const TreeTextOptions& options) : options_(options) {}

  std::vector<Node> Place(const Written& root) {
    Below(root, Node::kNoParent, Node::kNoProbe);
    int now = 0;
    for (Node& node : nodes_)
      for (DrawList& list : node.lists)
        for (Draw& draw : list.draws) draw.time = now++;
    return std::move(nodes_);
  }

 private:
  Node& at(int index) { return nodes_[static_cast<std::size_t>(index)]; }

  int Below(const Written& written, int parent, int probe_of) {
    const int index = static_cast<int>(nodes_.size());
    nodes_.push_back({.token = written.token,
                      .parent = parent,
                      .depth = parent < 0 ? 0 : at(parent).depth + 1,
                      .probe_of = probe_of});
    std::vector<int> children;
    for (const auto& [child, trunk] : ChildrenOf(written))
      children.push_back(Below(*child, index, probe_of < 0 ? trunk : probe_of));
    at(index).children = children;
    for (std::size_t trunk = 0; trunk < written.lists.size(); ++trunk)
      AddList(written.lists[trunk], trunk, index);
    return index;
  }

  void AddList(const std::vector<Written>& written, std::size_t trunk,
               int index) {
    const DrawKind draw_kind = LawOf(options_, trunk);
    Proposals proposals(written, draw_kind, options_.vocab_size);
    DrawList list = {.trunk = static_cast<int>(trunk),
                     .draw_kind = draw_kind,
                     .proposal = {proposals.Uniform(false)}};
    for (const Written& draw : written) {
      if (draw.probe()) continue;
      Draw made = {.token = draw.token, .proposal = proposals.Next(draw.token)};
      for (int child : at(index).children)
        if (draw.mark != '~' && at(child).token == draw.token &&
            !at(child).probe())
          made.child = child;
      list.draws.push_back(std::move(made));
    }
    if (!list.draws.empty()) at(index).lists.push_back(std::move(list));
  }

  const TreeTextOptions& options_;
  std::vector<Node> nodes_;
};

}  // namespace

std::vector<Node> ParseNodes(absl::string_view text,
                             const TreeTextOptions& options) {
  return Placer(options).Place(Parser(text).All());
}

DraftTree ParseTree(absl::string_view text, const TreeTextOptions& options) {
  return DraftTree(ParseNodes(text, options));
}

TrunkTree ParseGrowth(absl::string_view text, int trunk, DrawKind draw_kind,
                      int vocab_size, int now) {
  const Written root = Parser(text).All();
  TrunkTree tree(root.token, trunk, draw_kind, now);
  std::vector<std::pair<const Written*, int>> level = {{&root, 0}};
  for (std::size_t i = 0; i < level.size(); ++i) {
    const auto [written, node] = level[i];
    if (written->lists.empty()) continue;
    Check(written->lists.size() == 1, "a growing tree has one trunk");
    const std::vector<Written>& list = written->lists.front();
    Proposals proposals(list, draw_kind, vocab_size);
    if (!written->probe()) tree.SetProposal(node, {proposals.Uniform(false)});
    for (const Written& draw : list) {
      if (draw.probe()) {
        level.emplace_back(&draw, tree.AddProbe(node, draw.token));
        continue;
      }
      const int child = tree.AddDraw(
          node, draw.token, proposals.Next(draw.token), draw.mark == '~');
      if (!draw.lists.empty()) level.emplace_back(&draw, child);
    }
  }
  return tree;
}

}  // namespace banyan
