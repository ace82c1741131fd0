// Every lossless verifier with every lawful policy keeps the target's law, by
// exact enumeration. Rows come from the catalogues, so a new row is proven by
// standing there; each pairing prints its leaves.
#include <gtest/gtest.h>

#include <cctype>
#include <cstdint>
#include <iostream>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/prob/sampling_rule.h"
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

// Sums of up to 200,000 products of some ten factors, each rounded to 1e-16.
constexpr double kRounding = 1e-12;

// How a pairing is enumerated. A pairing that needs more leaves is left to the
// smaller sizes; `all_fit` says that none may.
struct Size {
  int letters;
  int rounds;
  int horizon;
  std::int64_t max_leaves;
  bool all_fit;
};

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

bool Lossy(const std::string& verifier) {
  return absl::string_view(verifier).substr(0, 7) == "typical" ||
         absl::string_view(verifier).substr(0, 8) == "lenience";
}

// Proves a pairing. Returns false if it is not lawful.
bool Prove(const Pairing& pairing, const Size& size) {
  absl::StatusOr<Decoder> decoder = Build(pairing);
  if (!decoder.ok()) return false;
  EXPECT_EQ(IsLossless(decoder->method()), !Lossy(pairing.verifier))
      << Describe(pairing);
  if (!IsLossless(decoder->method())) return false;
  absl::StatusOr<ExactLaw> law =
      ComputeExactLaw(*pairing.target, *decoder,
                      {.horizon = size.horizon,
                       .rounds = size.rounds,
                       .max_branches = size.max_leaves});
  const std::string what = absl::StrCat(Describe(pairing), ", ", size.letters,
                                        " letters, ", size.rounds, " round(s)");
  if (law.status().code() == absl::StatusCode::kResourceExhausted) {
    EXPECT_FALSE(size.all_fit) << what << ": " << law.status();
    std::cout << "  " << what << ": more than " << size.max_leaves
              << " leaves, left to the smaller sizes\n";
    return true;
  }
  if (!law.ok()) {
    ADD_FAILURE() << what << ": " << law.status();
    return true;
  }
  EXPECT_LE(law->max_abs_error, kRounding) << what;
  std::cout << "  " << what << ": " << law->branches << " leaves, error "
            << law->max_abs_error << "\n";
  return true;
}

constexpr DraftLaw kLaws[] = {DraftLaw::kIndependent,
                              DraftLaw::kWithoutReplacement,
                              DraftLaw::kDeterministic};

double Temperature(const std::string& verifier) {
  return verifier == "greedy" ? 0 : 1;
}

class EveryVerifier
    : public testing::TestWithParam<std::tuple<std::string, Size>> {};

TEST_P(EveryVerifier, KeepsTheTargetLawWithEveryLawfulPolicy) {
  const auto& [verifier, size] = GetParam();
  int proven = 0;
  for (const std::string& policy : PolicySpecs()) {
    for (DraftLaw law : kLaws) {
      // With zeros the drafter's support misses tokens of the target.
      for (bool zeros : {false, true}) {
        const auto drafter =
            Toy({.vocab_size = size.letters, .seed = 2, .zeros = zeros});
        proven += Prove({.target = Toy({.vocab_size = size.letters, .seed = 1}),
                         .verifier = verifier,
                         .trunks = {{policy, drafter, law}},
                         .sampling = {.temperature = Temperature(verifier)}},
                        size)
                      ? 1
                      : 0;
      }
    }
  }
  if (!Lossy(verifier)) {
    EXPECT_GE(proven, 4) << "too few lawful policies";
  }
}

// Two and three trunks, of equal and of different laws, one of them deeper.
TEST_P(EveryVerifier, KeepsTheTargetLawOfMergedTrunks) {
  const auto& [verifier, size] = GetParam();
  const auto model = [letters = size.letters](int seed, bool zeros) {
    return Toy({.vocab_size = letters, .seed = seed, .zeros = zeros});
  };
  for (DraftLaw first : kLaws) {
    for (DraftLaw second : kLaws) {
      Prove({.target = model(1, false),
             .verifier = verifier,
             .trunks = {{"expansion {branching: [2]}", model(2, true), first},
                        {"chain {gamma: 2}", model(3, false), second}},
             .sampling = {.temperature = Temperature(verifier)}},
            size);
    }
  }
  Prove(
      {.target = model(1, false),
       .verifier = verifier,
       .trunks = {{"chain {gamma: 1}", model(2, false), DraftLaw::kIndependent},
                  {"chain {gamma: 1}", model(3, true),
                   DraftLaw::kDeterministic},
                  {"adaptive_chain {gamma: 1, on_low: drop}", model(4, false),
                   DraftLaw::kWithoutReplacement}},
       .sampling = {.temperature = Temperature(verifier)}},
      size);
}

// The rule is applied at every node with the node's own path as history.
TEST_P(EveryVerifier, KeepsTheLawOfASamplingRule) {
  const auto& [verifier, size] = GetParam();
  const SamplingOptions rules[] = {
      {.temperature = 0.4},
      {.temperature = 0},
      {.temperature = 1, .top_k = 2},
      {.temperature = 1.5, .top_p = 0.7},
      {.temperature = 1, .min_p = 0.3},
      {.repetition_penalty = 3, .temperature = 1},
      {.banned = {1}, .temperature = 1},
  };
  for (SamplingOptions rule : rules) {
    if (verifier == "greedy") rule.temperature = 0;
    for (const char* policy :
         {"chain {gamma: 2}", "expansion {branching: [2, 1]}"}) {
      const Pairing pairing = {
          .target = Toy({.vocab_size = size.letters, .seed = 5}),
          .verifier = verifier,
          .trunks = {{policy, Toy({.vocab_size = size.letters, .seed = 6})}},
          .sampling = rule};
      Prove(pairing, size);
    }
  }
}

// Draws shared by cousins are exact from the root down, where the drafter's law
// does not depend on the path.
TEST_P(EveryVerifier, KeepsTheTargetLawOfSharedDraws) {
  const auto& [verifier, size] = GetParam();
  Prove({.target = Toy({.vocab_size = size.letters, .seed = 1}),
         .verifier = verifier,
         .trunks = {{"expansion {branching: [2, 1], share_draws: true}",
                     DepthToy({.vocab_size = size.letters, .seed = 2})}},
         .sampling = {.temperature = Temperature(verifier)}},
        size);
}

std::string TestName(
    const testing::TestParamInfo<std::tuple<std::string, Size>>& info) {
  std::string name;
  for (char c : std::get<0>(info.param))
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  const Size size = std::get<1>(info.param);
  return absl::StrCat(name, "_", size.letters, "Letters", size.rounds,
                      "Rounds");
}

INSTANTIATE_TEST_SUITE_P(
    Catalogue, EveryVerifier,
    testing::Combine(testing::ValuesIn(VerifierSpecs()),
                     // The horizon covers the tokens the rounds can emit, as
                     // far as the number of strings allows.
                     testing::Values(Size{3, 1, 4, 200'000, true},
                                     Size{4, 1, 3, 200'000, true},
                                     Size{2, 2, 6, 200'000, false},
                                     Size{3, 2, 4, 10'000, false})),
    TestName);

}  // namespace
}  // namespace banyan
