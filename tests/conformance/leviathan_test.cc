// Leviathan et al., Fast Inference from Transformers via Speculative Decoding
// (2023), Table 1: speed and operations for an acceptance alpha and gamma
// drafted tokens, drafting being free; recomputed by enumerating the method
// itself.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/model/table_model.h"
#include "decode/decoder.h"
#include "experiments/proof/exact_law.h"
#include "tests/conformance/pairing.h"

namespace banyan {
namespace {

struct Row {
  double alpha;
  int gamma;
  double operations;
  double speed;
};

// A model with the same distribution after every text.
std::shared_ptr<TableModel> Always(const std::vector<double>& law) {
  return std::make_shared<TableModel>(TableModel::Bigram(law, {law, law}));
}

TEST(Leviathan, TableOneIsWhatTheMethodDoes) {
  for (const Row& row : {Row{0.6, 2, 1.53, 1.96}, Row{0.7, 3, 1.58, 2.53},
                         Row{0.8, 2, 1.23, 2.44}, Row{0.8, 5, 1.63, 3.69},
                         Row{0.9, 2, 1.11, 2.71}, Row{0.9, 10, 1.60, 6.86}}) {
    // The draft is always the first letter, which the target has with alpha.
    const Pairing pairing = {
        .target = Always({row.alpha, 1 - row.alpha}),
        .verifier = "leviathan",
        .trunks = {
            {absl::StrCat("chain {nodes: ", row.gamma, "}"), Always({1, 0})}}};
    auto decoder = Build(pairing);
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    const auto law =
        ComputeExactLaw(*pairing.target, *decoder, {.horizon = 1, .rounds = 1});
    ASSERT_TRUE(law.ok()) << law.status();
    const double tokens = law->expected_tokens_per_round;
    // Their equation 1, and the table's two decimals.
    EXPECT_NEAR(tokens,
                (1 - std::pow(row.alpha, row.gamma + 1)) / (1 - row.alpha),
                1e-12);
    EXPECT_NEAR(tokens, row.speed, 0.005) << row.alpha << " " << row.gamma;
    EXPECT_NEAR((row.gamma + 1) / tokens, row.operations, 0.005)
        << row.alpha << " " << row.gamma;
  }
}

// Appendix A.2: 1 / M against the overlap, at every depth.
TEST(Leviathan, RejectionSamplingAcceptsOneOverMWhereTheirsHasTheOverlap) {
  struct Case {
    std::vector<double> p, q;
    double inverse, overlap;
  };
  for (const Case& at : {Case{{0.2, 0.8}, {0.5, 0.5}, 1 / 1.6, 0.7},
                         Case{{0.5, 0.5}, {0.9, 0.1}, 0.2, 0.6},
                         Case{{0.9, 0.1}, {0.9, 0.1}, 1, 1},
                         Case{{0, 1}, {0.75, 0.25}, 0.25, 0.25},
                         Case{{0.5, 0.5}, {1, 0}, 0, 0.5}}) {
    for (const char* verifier : {"rejection", "leviathan"}) {
      const Pairing pairing = {.target = Always(at.p),
                               .verifier = verifier,
                               .trunks = {{"chain {nodes: 3}", Always(at.q)}}};
      auto decoder = Build(pairing);
      ASSERT_TRUE(decoder.ok()) << decoder.status();
      const auto law = ComputeExactLaw(*pairing.target, *decoder,
                                       {.horizon = 1, .rounds = 1});
      ASSERT_TRUE(law.ok()) << law.status();
      const double accept =
          std::string(verifier) == "rejection" ? at.inverse : at.overlap;
      EXPECT_NEAR(law->expected_tokens_per_round,
                  1 + accept + std::pow(accept, 2) + std::pow(accept, 3), 1e-12)
          << verifier << " " << at.p[0] << " " << at.q[0];
    }
  }
}

}  // namespace
}  // namespace banyan
