#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/residual.h"
#include "core/random/random_source.h"
#include "experiments/proof/controls.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"
#include "verifiers/judging.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

std::vector<double> ToRow(const Distribution& law) {
  std::vector<double> row(static_cast<std::size_t>(law.vocab_size()), 0.0);
  law.ForEach([&](TokenId token, double mass) {
    row[static_cast<std::size_t>(token)] = mass;
  });
  return row;
}

enum class ResidualMistake { kNotNormalised, kTarget };

class WrongResidual : public Verifier {
 public:
  explicit WrongResidual(ResidualMistake mistake) : mistake_(mistake) {}

  VerifierTraits traits() const override {
    return {.draw_kinds = EveryDrawKind()};
  }

  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& chance) const override {
    return Descend(tree, [&](int node, TokenId& next) {
      const std::vector<double> p = ToRow(target.Row(node));
      std::vector<double> cur = p;
      for (const NumberedDraw& numbered : DrawsOf(tree.node(node))) {
        const Draw& draw = *numbered.draw;
        const auto token = static_cast<std::size_t>(draw.token);
        if (!draw.dropped() &&
            chance.Accept(cur[token] / draw.proposal.Mass(draw.token), node,
                          numbered.number))
          return draw.child;
        for (std::size_t x = 0; x < cur.size(); ++x)
          cur[x] = std::max(
              cur[x] - draw.proposal.Mass(static_cast<TokenId>(x)), 0.0);
        if (mistake_ == ResidualMistake::kTarget) cur = p;
      }
      const bool none = std::all_of(cur.begin(), cur.end(),
                                    [](double mass) { return mass <= 0; });
      next = chance.Draw({none ? p : cur}, Purpose::kTarget, node);
      return -1;
    });
  }

 private:
  ResidualMistake mistake_;
};

class DrawsAgain : public Verifier {
 public:
  VerifierTraits traits() const override {
    return {.draw_kinds = EveryDrawKind()};
  }

  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& chance) const override {
    return Descend(tree, [&](int node, TokenId& next) {
      const Distribution& p = target.Row(node);
      const TokenId y =
          p.TokenAt(chance.Draw(p.weights(), Purpose::kOrder, node));
      const int child = tree.Child(node, y);
      if (child < 0) next = DrawNext(p, node, chance);
      return child;
    });
  }
};

class StopsEarly : public Verifier {
 public:
  VerifierTraits traits() const override {
    return {.draw_kinds = {DrawKind::kIndependent},
            .chain = true,
            .one_list = true};
  }

  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& chance) const override {
    double p = 1;
    double kept = 1;
    const Verdict path = Descend(tree, [&](int node, TokenId&) {
      const std::vector<NumberedDraw> draws = DrawsOf(tree.node(node));
      if (draws.empty()) return -1;
      const Draw& draw = *draws.front().draw;
      p = std::min(p * target.Row(node).Mass(draw.token) /
                       draw.proposal.Mass(draw.token),
                   1.0);
      if (!chance.Accept(Bar(tree, draw.child, p, target), draw.child))
        return -1;
      kept = p;
      return draw.child;
    });
    Verdict verdict = path;
    const int last = path.path.empty() ? 0 : path.path.back();
    Residual residual(target.Row(last));
    const std::vector<NumberedDraw> draws = DrawsOf(tree.node(last));
    if (!draws.empty()) residual.Subtract(draws[0].draw->proposal, kept);
    verdict.next = DrawNext(residual, last, chance);
    return verdict;
  }

 private:
  static double Bar(const DraftTree& tree, int node, double p,
                    RowSource& target) {
    const std::vector<NumberedDraw> draws = DrawsOf(tree.node(node));
    if (draws.empty()) return p;
    const double excess =
        Residual(target.Row(node)).Excess(draws[0].draw->proposal, p);
    return excess > 0 ? excess / (excess + 1 - p) : 0;
  }
};

enum class TraversalMistake { kDraftMass, kErase };

class WrongTraversal : public Verifier {
 public:
  explicit WrongTraversal(TraversalMistake mistake) : mistake_(mistake) {}

  VerifierTraits traits() const override {
    return {.draw_kinds = EveryDrawKind(), .own_draws = true};
  }

  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& chance) const override {
    Verdict verdict;
    Visit(tree, target, chance, 0, 1, verdict);
    return verdict;
  }

 private:
  bool Visit(const DraftTree& tree, RowSource& target, const Chance& chance,
             int node, double a, Verdict& verdict) const {
    Residual residual(target.Row(node));
    std::vector<TokenId> refused;
    double drawn = 0;  // draft mass refused so far
    for (const NumberedDraw& numbered : DrawsOf(tree.node(node))) {
      const Draw& draw = *numbered.draw;
      const double q = draw.proposal.Mass(draw.token);
      const bool again = std::find(refused.begin(), refused.end(),
                                   draw.token) != refused.end();
      if (again && mistake_ == TraversalMistake::kErase) continue;
      if (!again) {
        const double ratio = std::min(a * residual.Mass(draw.token) / q, 1.0);
        if (ratio > 0 &&
            Visit(tree, target, chance, draw.child, ratio, verdict))
          return true;
        refused.push_back(draw.token);
      }
      drawn += q;
      const double left = residual.Subtract(draw.proposal, a);
      const double divisor = mistake_ == TraversalMistake::kDraftMass
                                 ? left + std::max(1 - drawn, 0.0)
                                 : left + 1 - a;
      if (node != 0) a = left > 0 ? std::min(left / divisor, 1.0) : 0;
    }
    if (!chance.Accept(a, node)) return false;
    verdict.path = PathTo(tree, node);
    verdict.next = DrawNext(residual, node, chance);
    return true;
  }

  TraversalMistake mistake_;
};

}  // namespace

std::unique_ptr<Verifier> ResidualNotNormalised() {
  return std::make_unique<WrongResidual>(ResidualMistake::kNotNormalised);
}

std::unique_ptr<Verifier> ResidualIsTarget() {
  return std::make_unique<WrongResidual>(ResidualMistake::kTarget);
}

std::unique_ptr<Verifier> DrawsAgainAfterMiss() {
  return std::make_unique<DrawsAgain>();
}

std::unique_ptr<Verifier> StopsAtFirstFailure() {
  return std::make_unique<StopsEarly>();
}

std::unique_ptr<Verifier> DividesByDraftMass() {
  return std::make_unique<WrongTraversal>(TraversalMistake::kDraftMass);
}

std::unique_ptr<Verifier> ErasesRefusedDraws() {
  return std::make_unique<WrongTraversal>(TraversalMistake::kErase);
}

}  // namespace banyan
