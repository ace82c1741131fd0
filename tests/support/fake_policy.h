// A policy that asks a function.
#ifndef BANYAN_TESTS_SUPPORT_FAKE_POLICY_H_
#define BANYAN_TESTS_SUPPORT_FAKE_POLICY_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tests/support/drafting.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {

class FakePolicy : public TreePolicy {
 public:
  using Rule = std::function<std::vector<Expansion>(const TrunkTree& tree)>;

  explicit FakePolicy(Rule rule,
                      PolicyTraits traits = {.draw_kinds = {kDrawKinds.begin(),
                                                            kDrawKinds.end()}})
      : rule_(std::move(rule)), traits_(std::move(traits)) {}

  // Expands the root, once, in one way.
  static FakePolicy Once(const Expansion& expansion,
                         PolicyTraits traits = AnyLaw()) {
    return FakePolicy(
        [expansion](const TrunkTree& tree) {
          return tree.draws(0).empty() && tree.open(0)
                     ? std::vector<Expansion>{expansion}
                     : std::vector<Expansion>{};
        },
        std::move(traits));
  }
  static PolicyTraits AnyLaw() {
    return {.draw_kinds = {kDrawKinds.begin(), kDrawKinds.end()}};
  }

  PolicyTraits traits() const override { return traits_; }
  std::unique_ptr<TreePolicy> Clone() const override {
    return std::make_unique<FakePolicy>(*this);
  }
  std::vector<Expansion> Next(const TrunkTree& tree) const override {
    return rule_(tree);
  }

 private:
  Rule rule_;
  PolicyTraits traits_;
};

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_FAKE_POLICY_H_
