// The proof record is of the sources that are built.
#include "decode/proofs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "configs/loader/yaml.h"
#include "core/base/check.h"
#include "core/prob/sampling_rule.h"
#include "decode/method.h"
#include "drafters/catalogue.h"
#include "drafters/small_models/small_model/small_model.h"
#include "tests/conformance/pairing.h"
#include "tests/conformance/toys.h"
#include "tests/support/any_lesson.h"
#include "tests/support/decoding.h"
#include "tests/support/table_drafter.h"
#include "tree/policies/catalogue.h"
#include "verifiers/catalogue.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Proofs, AreNotStale) {
  const std::vector<ProofLine> record = ProofRecord();
  EXPECT_THAT(record, testing::Not(IsEmpty()));
  int stale = 0;
  for (const ProofLine& line : record) {
    if (line.hashes == CurrentHashes(line.pair)) continue;
    if (++stale <= 5)
      ADD_FAILURE() << "stale: " << ToText(line) << "; now "
                    << CurrentHashes(line.pair);
  }
  EXPECT_EQ(stale, 0) << "sources changed after they were proven: "
                         "scripts/test --record proves them anew";
}

// So that a part that came later cannot be missing.
TEST(Proofs, AreThereOfEveryPart) {
  std::set<std::pair<std::string, std::string>> proven;
  for (const ProofLine& line : ProofRecord()) {
    proven.emplace("verifier", line.pair.verifier);
    proven.emplace(line.pair.kind, line.pair.part);
  }
  const auto expect = [&](const std::string& kind, absl::string_view part) {
    EXPECT_TRUE(proven.contains({kind, std::string(part)}))
        << kind << " " << part
        << " is not in decode/proofs.txt: scripts/test --record";
  };
  for (const std::string& verifier : LosslessVerifiers(0))
    expect("verifier", verifier.substr(0, verifier.find(' ')));
  for (const PolicyRow& row : PolicyCatalogue()) expect("policy", row.name);
  for (const DrafterRow& row : DrafterCatalogue()) expect("drafter", row.name);
  expect("trunks", "merged");
  expect("trunks", "taking_turns");
}

TEST(Proofs, AreNoFewerThanTheyWere) {
  std::int64_t pairings = 0;
  for (const ProofLine& line : ProofRecord()) pairings += line.pairings;
  EXPECT_GE(pairings, 26'000);
}

TEST(Proofs, AreReadLineByLine) {
  const std::vector<ProofLine> lines = ReadProofs(
      "# a head of five words or more\n"
      "multi_round policy chain 64 0a.0b.0c the test suite\n"
      "greedy drafter copy many 0a.0b.0c the test suite\n"
      "greedy drafter copy\n");
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0].pair, (ProofPair{"multi_round", "policy", "chain"}));
  EXPECT_EQ(lines[0].pairings, 64);
  EXPECT_EQ(lines[0].hashes, "0a.0b.0c");
  EXPECT_EQ(ToText(lines[0]),
            "multi_round policy chain 64 0a.0b.0c the test suite");
}

TEST(Proofs, APairHasTheHashesOfItsThreeParts) {
  const std::string chain = CurrentHashes({"multi_round", "policy", "chain"});
  const std::string copy = CurrentHashes({"multi_round", "drafter", "copy"});
  EXPECT_THAT(chain, SizeIs(26));
  EXPECT_EQ(chain.substr(0, 18), copy.substr(0, 18));
  EXPECT_NE(chain.substr(18), copy.substr(18));
  EXPECT_EQ(CurrentHashes({"multi_round", "policy", "no_such"}), "");
  EXPECT_EQ(CurrentHashes({"no_such", "policy", "chain"}), "");
}

Method MethodOf(const std::string& verifier, const std::string& drafter,
                int trunks) {
  Method method = {.verifier_name = verifier,
                   .verifier = nullptr,
                   .rule = SamplingRule(SamplingOptions())};
  const auto section = ParseYaml(Section(verifier), "verifier");
  Check(section.ok(), section.status().message());
  auto built = BuildVerifier(*section);
  Check(built.ok(), built.status().message());
  method.verifier = *std::move(built);
  for (int i = 0; i < trunks; ++i) {
    method.trunks.push_back(
        TrunkOf(std::make_unique<SmallModel>(Toy({.seed = i + 1}),
                                             SamplingRule(SamplingOptions())),
                "chain {nodes: 1}"));
    method.trunks.back().drafter_name = drafter;
    method.trunks.back().policy_name = "chain";
  }
  return method;
}

TEST(Proofs, AMethodNeedsThoseOfAllItsParts) {
  EXPECT_THAT(PairsOf(MethodOf("multi_round", "relay(small_model, ngram)", 2)),
              ElementsAre(ProofPair{"multi_round", "policy", "chain"},
                          ProofPair{"multi_round", "drafter", "relay"},
                          ProofPair{"multi_round", "drafter", "small_model"},
                          ProofPair{"multi_round", "drafter", "ngram"},
                          ProofPair{"multi_round", "trunks", "merged"}));
}

TEST(Proofs, ADrafterThatCarriesStateNeedsTheProofOfThatToo) {
  AnyLesson state;
  Method method = MethodOf("multi_round", "ngram", 1);
  method.trunks[0].drafter = std::make_unique<TableDrafter>(Toy({}), &state);
  EXPECT_THAT(PairsOf(method),
              ElementsAre(ProofPair{"multi_round", "policy", "chain"},
                          ProofPair{"multi_round", "drafter", "ngram"},
                          ProofPair{"multi_round", "carried", "ngram"}));
  method.trunks[0].drafter_name = "";
  EXPECT_THAT(PairsOf(method),
              ElementsAre(ProofPair{"multi_round", "policy", "chain"}));
}

TEST(Proofs, AMethodIsProvenIfAllItsPairsAre) {
  EXPECT_TRUE(IsProven(MethodOf("multi_round", "small_model", 2)));
  EXPECT_FALSE(IsProven(MethodOf("multi_round", "of_my_own", 1)));
  // A chain's verifier, of which no proof has two trunks.
  EXPECT_TRUE(IsProven(MethodOf("leviathan", "small_model", 1)));
  EXPECT_FALSE(IsProven(MethodOf("leviathan", "small_model", 2)));
  EXPECT_FALSE(IsProven(MethodOf("lenience", "small_model", 1)));
}

}  // namespace
}  // namespace banyan
