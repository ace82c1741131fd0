// Every lossless verifier with every lawful policy keeps the target's law, by
// exact enumeration: one round on three and four letters, two consecutive
// rounds on two and three. Rows come from the catalogues, so a new row is
// proven by standing there.
#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "experiments/law/exact_law.h"
#include "tests/conformance/pairing.h"
#include "tests/conformance/toys.h"
#include "tree/draft_tree.h"
#include "tree/policies/catalogue.h"
#include "verifiers/catalogue.h"

namespace banyan {
namespace {

// Sums of up to 200,000 products of some ten factors: 1e-16 each.
constexpr double kRounding = 1e-12;
constexpr std::int64_t kMaxLeaves = 200'000;

std::vector<std::string> VerifierSpecs() {
  std::vector<std::string> specs;
  for (const VerifierRow& row : VerifierCatalogue()) {
    specs.emplace_back(row.name);
    for (absl::string_view variant : row.variants)
      specs.push_back(absl::StrCat(row.name, " ", variant));
  }
  return specs;
}

std::vector<std::string> PolicySpecs() {
  std::vector<std::string> specs;
  for (const PolicyRow& row : PolicyCatalogue())
    for (absl::string_view example : row.examples)
      specs.push_back(absl::StrCat(row.name, " ", example));
  return specs;
}

// Proves one pairing, if it is lawful and lossless. Returns whether it was, and
// whether its leaves fitted.
struct Proof {
  bool lawful = false;
  bool fitted = false;
};

Proof Prove(const Pairing& pairing, int horizon, int rounds) {
  absl::StatusOr<Decoder> decoder = Build(pairing);
  if (!decoder.ok() || !IsLossless(decoder->method())) return {};
  absl::StatusOr<ExactLaw> law = ComputeExactLaw(
      *pairing.target, *decoder,
      {.horizon = horizon, .rounds = rounds, .max_branches = kMaxLeaves});
  if (!law.ok()) {
    EXPECT_EQ(law.status().code(), absl::StatusCode::kResourceExhausted)
        << Describe(pairing) << ": " << law.status();
    return {.lawful = true};
  }
  EXPECT_LE(law->max_abs_error, kRounding) << Describe(pairing);
  std::cout << "  " << Describe(pairing) << ", " << pairing.target->vocab_size()
            << " letters, " << rounds << " rounds: " << law->branches
            << " leaves, error " << law->max_abs_error << "\n";
  return {.lawful = true, .fitted = true};
}

const std::vector<DraftLaw>& Laws() {
  static const auto& laws = *new std::vector<DraftLaw>{
      DraftLaw::kIndependent, DraftLaw::kWithoutReplacement,
      DraftLaw::kDeterministic};
  return laws;
}

struct Size {
  int letters;
  int rounds;
};

class EveryVerifier
    : public testing::TestWithParam<std::tuple<std::string, Size>> {};

TEST_P(EveryVerifier, KeepsTheTargetLawWithEveryLawfulPolicy) {
  const auto& [verifier, size] = GetParam();
  int proven = 0;
  for (const std::string& policy : PolicySpecs()) {
    for (DraftLaw law : Laws()) {
      for (bool zeros : {false, true}) {
        const double temperature = verifier == "greedy" ? 0 : 1;
        const Pairing pairing = {
            .target = Toy({.vocab_size = size.letters, .seed = 1}),
            .verifier = verifier,
            .trunks =
                {{policy,
                  Toy({.vocab_size = size.letters, .seed = 2, .zeros = zeros}),
                  law}},
            .sampling = {.temperature = temperature}};
        proven += Prove(pairing, size.letters == 4 ? 3 : 4, size.rounds).fitted;
      }
    }
  }
  if (verifier.rfind("typical", 0) == 0 || verifier.rfind("lenience", 0) == 0)
    EXPECT_EQ(proven, 0) << "a lossy verifier claims to be lossless";
  else
    EXPECT_GE(proven, 4) << "too few lawful policies";
}

std::string TestName(
    const testing::TestParamInfo<std::tuple<std::string, Size>>& info) {
  std::string name;
  for (char c : std::get<0>(info.param))
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  const Size size = std::get<1>(info.param);
  return absl::StrCat(name, "_", size.letters, "letters_", size.rounds,
                      "rounds");
}

INSTANTIATE_TEST_SUITE_P(
    Catalogue, EveryVerifier,
    testing::Combine(testing::ValuesIn(VerifierSpecs()),
                     testing::Values(Size{3, 1}, Size{4, 1}, Size{2, 2},
                                     Size{3, 2})),
    TestName);

}  // namespace
}  // namespace banyan
