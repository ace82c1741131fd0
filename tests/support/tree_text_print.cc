#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"
#include "tree/merge.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

class Printer {
 public:
  explicit Printer(const DraftTree& tree) : tree_(tree) {}

  std::string Below(int index) const {
    const Node& node = tree_.node(index);
    std::vector<std::vector<std::string>> lists;
    const auto list = [&lists](int trunk) -> std::vector<std::string>& {
      const auto place = static_cast<std::size_t>(trunk);
      if (lists.size() <= place) lists.resize(place + 1);
      return lists[place];
    };
    std::vector<int> printed;
    for (const DrawList& drawn : node.lists) {
      for (const Draw& draw : drawn.draws) {
        const bool first =
            std::count(printed.begin(), printed.end(), draw.child) == 0;
        printed.push_back(draw.child);
        list(drawn.trunk)
            .push_back(draw.dropped() ? absl::StrCat("~", draw.token)
                       : first        ? Below(draw.child)
                                      : absl::StrCat(draw.token));
      }
    }
    for (int child : node.children) {
      const int trunk = tree_.node(child).probe_of;
      if (trunk != Node::kNoProbe)
        list(node.probe() ? 0 : trunk)
            .push_back(absl::StrCat("*", Below(child)));
    }
    std::vector<std::string> joined;
    joined.reserve(lists.size());
    for (const auto& words : lists) joined.push_back(absl::StrJoin(words, " "));
    if (joined.empty()) return absl::StrCat(node.token);
    return absl::StrCat(node.token, "(", absl::StrJoin(joined, " | "), ")");
  }

 private:
  const DraftTree& tree_;
};

}  // namespace

std::string ToText(const DraftTree& tree) { return Printer(tree).Below(0); }

std::string ToText(const TrunkTree& tree) {
  return ToText(Merge(absl::MakeConstSpan(&tree, 1)));
}

}  // namespace banyan
