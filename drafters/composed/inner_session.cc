#include "drafters/composed/inner_session.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {

bool InnerSession::Reaches(const Context& context, int depth) const {
  return static_cast<std::int64_t>(context.tokens.size()) + depth <=
         drafter_->traits().longest_text;
}

void InnerSession::Start(const TrunkTree& of, DrawKind draw_kind) {
  tree_ = TrunkTree(of.node(0).token, of.trunk(), draw_kind);
  answers_.clear();
}

int InnerSession::Find(const TrunkTree& of, int node) {
  int found = 0;
  for (TokenId token : TokensTo(of, node)) found = Child(found, token);
  return found;
}

int InnerSession::Child(int node, TokenId token) {
  for (int child : tree_.node(node).children)
    if (tree_.node(child).token == token) return child;
  return tree_.AddProbe(node, token);
}

const Proposal* InnerSession::answer(int node) const {
  const auto at = static_cast<std::size_t>(node);
  return at < answers_.size() && answers_[at].has_value() ? &*answers_[at]
                                                          : nullptr;
}

// Those that the next pass asks for: without an answer, parents first.
std::vector<int> InnerSession::NextOf(absl::Span<const int> nodes) const {
  std::set<int> missing;  // a parent has the lower number
  for (int node : nodes)
    for (; node >= 0 && answer(node) == nullptr; node = tree_.node(node).parent)
      missing.insert(node);
  std::vector<int> next;
  for (int node : missing)
    if (drafter_->traits().proposes_ahead ||
        missing.count(tree_.node(node).parent) == 0)
      next.push_back(node);
  return next;
}

void InnerSession::Take(absl::Span<const int> nodes, Proposals answers) {
  Check(answers.size() == nodes.size(), "one proposal a node");
  answers_.resize(static_cast<std::size_t>(tree_.size()));
  for (std::size_t i = 0; i < nodes.size(); ++i)
    answers_[static_cast<std::size_t>(nodes[i])] = std::move(answers[i]);
}

absl::Status InnerSession::AskAll(absl::Span<const Question> questions) {
  while (true) {
    std::vector<InnerSession*> asking;
    std::vector<DraftRequest> requests;
    for (const Question& question : questions) {
      InnerSession& part = *question.part;
      std::vector<int> next = part.NextOf(question.nodes);
      if (next.empty()) continue;
      asking.push_back(&part);
      requests.push_back(
          {&part.session(), question.context, &part.tree(), std::move(next)});
    }
    if (requests.empty()) return absl::OkStatus();
    BANYAN_ASSIGN_OR_RETURN(std::vector<Proposals> answers,
                            asking.front()->drafter_->Propose(requests));
    Check(answers.size() == requests.size(), "one answer a sequence");
    for (std::size_t i = 0; i < asking.size(); ++i)
      asking[i]->Take(requests[i].nodes, std::move(answers[i]));
  }
}

}  // namespace banyan
