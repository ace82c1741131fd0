// What wraps a drafter is what the drafter is, by its traits, its carried state
// and the facets of its sessions: a decorator, and a relay of one part. Of
// every drafter of the catalogue, and of those that carry state.
#include <gtest/gtest.h>

#include <cstddef>
#include <iostream>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "drafters/composed/inner_drafters.h"
#include "drafters/composed/relay/relay.h"
#include "drafters/drafter.h"
#include "tests/conformance/drafter_proof.h"
#include "tests/support/decorated.h"

namespace banyan {
namespace {

// Names every field, so that one that is added does not compile here.
auto FieldsOf(const DrafterTraits& traits) {
  const auto& [laws, longest_text, proposes_ahead, depth_heads, taps,
               reads_scores, probes, below_others] = traits;
  return std::tie(laws, longest_text, proposes_ahead, depth_heads, taps,
                  reads_scores, probes, below_others);
}

bool InTargetPass(const Drafter& drafter) {
  return drafter.NewSession()->facets().in_target_pass != nullptr;
}

bool OnDevice(const Drafter& drafter) {
  return drafter.NewSession()->facets().on_device != nullptr;
}

void ExpectSame(const Drafter& decorated, const Drafter& inner) {
  EXPECT_EQ(FieldsOf(decorated.traits()), FieldsOf(inner.traits()));
  EXPECT_EQ(decorated.carried(), inner.carried());
  EXPECT_EQ(InTargetPass(decorated), InTargetPass(inner));
  EXPECT_EQ(OnDevice(decorated), OnDevice(inner));
}

// Draw kinds and heads may differ, and no device runs a relay's rounds.
void ExpectAsItsPart(const Drafter& relay, const Drafter& part) {
  EXPECT_EQ(relay.traits().taps, part.traits().taps);
  EXPECT_EQ(relay.traits().probes, part.traits().probes);
  EXPECT_EQ(relay.traits().below_others, part.traits().below_others);
  EXPECT_EQ(relay.traits().reads_scores, part.traits().reads_scores);
  EXPECT_EQ(relay.traits().longest_text, part.traits().longest_text);
  EXPECT_EQ(relay.traits().proposes_ahead, part.traits().proposes_ahead);
  EXPECT_EQ(relay.carried() != nullptr, part.carried() != nullptr);
  EXPECT_EQ(InTargetPass(relay), InTargetPass(part));
}

TEST(Decorators, AreWhatTheyWrap) {
  std::vector<std::string> specs = DrafterSpecs();
  for (const std::string& spec : CarryingSpecs()) specs.push_back(spec);
  DrafterProof proof({2, 1, 4, 200'000, true}, 1);
  std::size_t compared = 0;
  for (const std::string& spec : specs) {
    SCOPED_TRACE(spec);
    std::unique_ptr<Drafter> drafter = proof.Make(spec);
    const Drafter& inner = *drafter;
    auto decorated = std::make_unique<Decorated>(std::move(drafter));
    ExpectSame(*decorated, inner);
    ExpectSame(Decorated(std::move(decorated)), inner);

    std::vector<std::unique_ptr<Drafter>> parts;
    parts.push_back(proof.Make(spec));
    const Drafter& part = *parts.front();
    ExpectAsItsPart(Relay(InnerDrafters(std::move(parts)), /*ends=*/{}), part);
    ++compared;
  }
  std::cout << "  " << compared << " drafters compared\n";
  EXPECT_EQ(compared, specs.size());
  EXPECT_GT(compared, 0U);
}

}  // namespace
}  // namespace banyan
