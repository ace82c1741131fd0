#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "experiments/proof/controls.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

class TamperedVerifier : public Verifier {
 public:
  TamperedVerifier(std::unique_ptr<Verifier> right, Tampering tampering)
      : right_(std::move(right)), tampering_(tampering) {}

  VerifierTraits traits() const override { return right_->traits(); }

  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& chance) const override {
    std::vector<Node> nodes(tree.nodes().begin(), tree.nodes().end());
    tampering_(nodes);
    return right_->Verify(DraftTree(std::move(nodes)), target, chance);
  }

 private:
  std::unique_ptr<Verifier> right_;
  Tampering tampering_;
};

class UndemandingVerifier : public Verifier {
 public:
  explicit UndemandingVerifier(std::unique_ptr<Verifier> right)
      : right_(std::move(right)) {}

  VerifierTraits traits() const override {
    VerifierTraits traits = right_->traits();
    traits.fixed_counts = false;
    traits.own_draws = false;
    // Its own first: it prefers them.
    for (const DrawKind draw_kind : kDrawKinds)
      if (std::find(traits.draw_kinds.begin(), traits.draw_kinds.end(),
                    draw_kind) == traits.draw_kinds.end())
        traits.draw_kinds.push_back(draw_kind);
    return traits;
  }

  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& chance) const override {
    return right_->Verify(tree, target, chance);
  }

 private:
  std::unique_ptr<Verifier> right_;
};

// Returns the distribution with masses raised to `power`, renormalised.
Distribution Raised(const Distribution& law, double power) {
  std::vector<double> masses(static_cast<std::size_t>(law.vocab_size()), 0.0);
  law.ForEach([&](TokenId token, double mass) {
    masses[static_cast<std::size_t>(token)] = std::pow(mass, power);
  });
  return Distribution::Dense(std::move(masses)).Normalized();
}

// At temperature T masses are those at 1, raised to 1 / T and normalised.
class UntemperedRows : public RowSource {
 public:
  UntemperedRows(const DraftTree& tree, RowSource& right, double temperature)
      : tree_(tree), right_(right), temperature_(temperature) {}

  const Distribution& Row(int node) override {
    if (!tree_.node(node).lists.empty()) return right_.Row(node);
    if (const auto known = rows_.find(node); known != rows_.end())
      return known->second;
    return rows_[node] = Raised(right_.Row(node), temperature_);
  }

 private:
  const DraftTree& tree_;
  RowSource& right_;
  double temperature_;
  std::map<int, Distribution> rows_;
};

class UntemperedBonusVerifier : public Verifier {
 public:
  UntemperedBonusVerifier(std::unique_ptr<Verifier> right, double temperature)
      : right_(std::move(right)), temperature_(temperature) {}

  VerifierTraits traits() const override { return right_->traits(); }

  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& chance) const override {
    UntemperedRows rows(tree, target, temperature_);
    return right_->Verify(tree, rows, chance);
  }

 private:
  std::unique_ptr<Verifier> right_;
  double temperature_;
};

void ForEachList(std::vector<Node>& nodes,
                 absl::FunctionRef<void(std::vector<Draw>&)> change) {
  for (Node& node : nodes)
    for (DrawList& list : node.lists) change(list.draws);
}

}  // namespace

std::unique_ptr<Verifier> Tampered(std::unique_ptr<Verifier> right,
                                   Tampering tampering) {
  return std::make_unique<TamperedVerifier>(std::move(right), tampering);
}

std::unique_ptr<Verifier> Undemanding(std::unique_ptr<Verifier> right) {
  return std::make_unique<UndemandingVerifier>(std::move(right));
}

std::unique_ptr<Verifier> UntemperedBonus(std::unique_ptr<Verifier> right,
                                          const SamplingRule& rule) {
  return std::make_unique<UntemperedBonusVerifier>(std::move(right),
                                                   rule.options().temperature);
}

void MergeRepeats(std::vector<Node>& nodes) {
  for (Node& node : nodes) {
    std::vector<int> seen;
    for (DrawList& list : node.lists) {
      std::erase_if(list.draws, [&](const Draw& draw) {
        if (std::find(seen.begin(), seen.end(), draw.child) != seen.end())
          return true;
        seen.push_back(draw.child);
        return false;
      });
    }
  }
}

void GroupRepeats(std::vector<Node>& nodes) {
  ForEachList(nodes, [](std::vector<Draw>& draws) {
    std::vector<Draw> grouped;
    for (std::size_t i = 0; i < draws.size(); ++i) {
      auto after = std::find_if(
          grouped.rbegin(), grouped.rend(),
          [&](const Draw& draw) { return draw.token == draws[i].token; });
      grouped.insert(after == grouped.rend() ? grouped.end() : after.base(),
                     draws[i]);
    }
    draws = std::move(grouped);
  });
}

void KeepLastProposal(std::vector<Node>& nodes) {
  for (Node& node : nodes) {
    std::map<TokenId, Distribution> last;
    for (const DrawList& list : node.lists)
      for (const Draw& draw : list.draws) last[draw.token] = draw.proposal;
    for (DrawList& list : node.lists)
      for (Draw& draw : list.draws) draw.proposal = last[draw.token];
  }
  MergeRepeats(nodes);
}

void SortByProbability(std::vector<Node>& nodes) {
  ForEachList(nodes, [](std::vector<Draw>& draws) {
    std::stable_sort(
        draws.begin(), draws.end(), [](const Draw& a, const Draw& b) {
          return a.proposal.Mass(a.token) > b.proposal.Mass(b.token);
        });
  });
}

void SortByToken(std::vector<Node>& nodes) {
  ForEachList(nodes, [](std::vector<Draw>& draws) {
    std::stable_sort(
        draws.begin(), draws.end(),
        [](const Draw& a, const Draw& b) { return a.token < b.token; });
  });
}

void PruneUnlikely(std::vector<Node>& nodes) {
  constexpr double kThreshold = 0.25;
  ForEachList(nodes, [](std::vector<Draw>& draws) {
    std::erase_if(draws, [](const Draw& draw) {
      return draw.proposal.Mass(draw.token) < kThreshold;
    });
  });
}

void UseTwice(std::vector<Node>& nodes) {
  ForEachList(nodes, [](std::vector<Draw>& draws) {
    std::vector<Draw> twice;
    for (const Draw& draw : draws) twice.insert(twice.end(), 2, draw);
    draws = std::move(twice);
  });
}

void IgnoreLaw(std::vector<Node>& nodes) {
  for (Node& node : nodes)
    for (DrawList& list : node.lists)
      for (Draw& draw : list.draws)
        if (!list.proposal.q.empty())
          draw.proposal = list.proposal.q.Normalized();
}

void ReverseTime(std::vector<Node>& nodes) {
  ForEachList(nodes, [](std::vector<Draw>& draws) {
    std::reverse(draws.begin(), draws.end());
  });
}

void CutToOneNode(std::vector<Node>& nodes) {
  constexpr int kLastKept = 1;
  ForEachList(nodes, [](std::vector<Draw>& draws) {
    std::erase_if(draws,
                  [](const Draw& draw) { return draw.child > kLastKept; });
  });
}

void FlattenProposals(std::vector<Node>& nodes) {
  ForEachList(nodes, [](std::vector<Draw>& draws) {
    for (Draw& draw : draws) draw.proposal = Raised(draw.proposal, 0.5);
  });
}

}  // namespace banyan
