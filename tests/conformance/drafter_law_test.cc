// Every drafter of the catalogue keeps the target distribution under every
// lossless verifier that takes one of its draw kinds. The check enumerates all
// outcomes. Rows come from the catalogues, so a new drafter is checked through
// the examples of its row. In the second of two rounds, drafters that learn
// from the text use the tokens that the first round emitted. Each test prints
// how many pairings it proved, found incompatible and left out, and fails if
// too few are proven.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/common.h"
#include "core/model/context.h"
#include "core/prob/sampling_rule.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "drafters/catalogue.h"
#include "drafters/drafter.h"
#include "drafters/small_models/common_tokens/common_tokens.h"
#include "drafters/small_models/retokenized/retokenized.h"
#include "drafters/workbench.h"
#include "experiments/proof/exact_law.h"
#include "tests/conformance/drafter_proof.h"
#include "tests/conformance/proof.h"
#include "tests/conformance/toys.h"
#include "tests/support/decoding.h"
#include "tests/support/made/toy_tokenizer.h"
#include "tests/support/shared_models.h"
#include "tests/support/tally.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

constexpr const char* kPolicies[] = {
    "chain {nodes: 2}", "expansion {branching: [2, 1]}",
    "sequences {width: 2, levels: 2}", "best_first {most_draws: 3}"};

class EveryDrafter
    : public testing::TestWithParam<std::tuple<std::string, ProofSize>> {};

TEST_P(EveryDrafter, KeepsTheTargetLawUnderEveryLosslessVerifier) {
  const auto& [drafter, size] = GetParam();
  Tally tally;
  for (double temperature : {1., 0.}) {
    DrafterProof proof(size, temperature);
    for (const std::string& verifier : LosslessVerifiers(temperature))
      for (const char* policy : kPolicies)
        for (DrawKind draw_kind : kDrawKinds)
          proof.Prove({drafter, verifier, policy, draw_kind},
                      proof.Make(drafter), tally);
    // One that reads the target's rows has nothing to say before it read some;
    // one that rewrites drafts first what begins a text, which here nothing can
    // say, and of two letters hardly any stands in the prompt once.
    const bool rewrites = absl::StrContains(drafter, "mode: rewrite") &&
                          (size.rounds == 1 || size.letters == 2);
    const bool silent =
        rewrites ||
        (size.rounds == 1 && proof.Make(drafter)->traits().reads_scores);
    EXPECT_TRUE(proof.accepted() > 0 || temperature == 0 || silent)
        << "no draft was ever accepted";
  }
  ExpectCounts(tally, 37);
}

TEST_P(EveryDrafter, GivesTheLawsOfItsRow) {
  const auto& [drafter, size] = GetParam();
  const std::string name = drafter.substr(0, drafter.find(' '));
  int rows = 0;
  for (const DrafterRow& row : DrafterCatalogue())
    if (row.name == name) {
      EXPECT_EQ(DrafterProof(size, 1).Make(drafter)->traits().draw_kinds,
                row.draw_kinds);
      ++rows;
    }
  EXPECT_EQ(rows, 1);
}

// A row a token, as recycling learns them: after 0 one token, 1, and after 1
// one, 0.
std::string RecycledRows() {
  ByteWriter bytes;
  for (std::uint32_t number : {0U, 1U, 1U, 1U, 1U, 0U}) bytes.Put(number);
  return bytes.Take();
}

// A session of a drafter of its own, which an earlier prompt taught.
class TaughtSession : public QuietSession {
 public:
  TaughtSession(DrafterProof& proof, const std::string& spec)
      : QuietSession(SessionFacets{}), drafter_(proof.Make(spec)) {}

  absl::Status Begin(const Context& context) override {
    Context earlier = ContextOf({1, 1, 0, 1, 0, 0});
    earlier.prompt_length = 1;
    const std::unique_ptr<DraftSession> before = drafter_->NewSession();
    BANYAN_RETURN_IF_ERROR(before->Begin(earlier));
    std::string learnt = before->End();
    if (drafter_->traits().reads_scores) learnt = RecycledRows();
    BANYAN_RETURN_IF_ERROR(drafter_->carried()->Absorb(earlier.tokens, learnt));
    session_ = drafter_->NewSession();
    return session_->Begin(context);
  }
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override {
    return session_->Observe(context, outcome);
  }
  absl::StatusOr<Proposals> Propose(DraftRequest request) {
    request.session = session_.get();
    BANYAN_ASSIGN_OR_RETURN(std::vector<Proposals> all,
                            drafter_->Propose({&request, 1}));
    return std::move(all.front());
  }

 private:
  std::unique_ptr<Drafter> drafter_;
  std::unique_ptr<DraftSession> session_;
};

// What it learnt from an earlier prompt is there again whenever a run begins,
// as the enumeration asks; so it may carry state.
class AfterAnEarlierPrompt : public Drafter {
 public:
  AfterAnEarlierPrompt(DrafterProof& proof, std::string spec)
      : Drafter(proof.Make(spec)->traits(), /*carried=*/nullptr),
        proof_(proof),
        spec_(std::move(spec)) {}

  std::unique_ptr<DraftSession> NewSession() const override {
    return std::make_unique<TaughtSession>(proof_, spec_);
  }
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override {
    std::vector<Proposals> all;
    for (const DraftRequest& request : requests) {
      BANYAN_ASSIGN_OR_RETURN(
          Proposals proposals,
          SessionOf<TaughtSession>(request).Propose(request));
      all.push_back(std::move(proposals));
    }
    return all;
  }

 private:
  DrafterProof& proof_;
  std::string spec_;
};

TEST(DrafterLaw, IsKeptWithWhatAnEarlierPromptLeft) {
  Tally tally;
  for (const std::string& spec : CarryingSpecs()) {
    DrafterProof proof({2, 1, 4, 200'000, true}, 1);
    ASSERT_NE(proof.Make(spec)->carried(), nullptr);
    // Chains too, which some verifiers take alone.
    for (const char* policy :
         {"expansion {branching: [2, 1]}", "chain {nodes: 2}"})
      for (const std::string& verifier : LosslessVerifiers(1))
        for (DrawKind draw_kind : kDrawKinds)
          proof.Prove({spec, verifier, policy, draw_kind, /*kind=*/"carried"},
                      std::make_unique<AfterAnEarlierPrompt>(proof, spec),
                      tally);
    EXPECT_GE(proof.accepted(), 5) << spec;
  }
  ExpectCounts(tally, 156);
}

// Its text says nothing to the model, nor the model's to it: nothing is
// drafted.
TEST(DrafterLaw, IsKeptWithoutACommonToken) {
  Tally tally;
  for (double temperature : {1., 0.}) {
    DrafterProof proof({2, 2, 6, 20'000, false}, temperature);
    const OtherModel other =
        MakeOtherModel(*Toy({.vocab_size = 2}), ToyTokenizer({"a", "b"}),
                       Toy({.vocab_size = 2}), ToyTokenizer({"x", "y"}));
    ASSERT_TRUE(other.map->common().empty());
    const SamplingRule rule({.temperature = temperature});
    for (const std::string& verifier : LosslessVerifiers(temperature))
      for (DrawKind draw_kind : kDrawKinds) {
        proof.Prove({"common_tokens", verifier, "chain {nodes: 2}", draw_kind},
                    std::make_unique<CommonTokens>(2, other, rule), tally);
        proof.Prove({"retokenized", verifier, "chain {nodes: 2}", draw_kind},
                    std::make_unique<Retokenized>(2, other, 4), tally);
      }
    EXPECT_EQ(proof.accepted(), 0);
  }
  ExpectCounts(tally, 58);
}

TEST(DrafterLaw, OfADrafterThatCarriesStateIsNotEnumerated) {
  DrafterProof proof({2, 1, 4, 200'000, true}, 1);
  std::vector<Trunk> trunks;
  trunks.push_back(
      TrunkOf(proof.Make("ngram {reset: never}"), "chain {nodes: 1}"));
  const auto target = Toy({.vocab_size = 2});
  absl::StatusOr<Decoder> decoder =
      WithTrunks(*target, "match", std::move(trunks));
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  const absl::Status status =
      ComputeExactLaw(*target, *decoder, {.horizon = 1}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "carries state")) << status;
}

std::string TestName(
    const testing::TestParamInfo<std::tuple<std::string, ProofSize>>& info) {
  const auto& [drafter, size] = info.param;
  const auto name_of = [](const std::string& spec) {
    std::string name;
    for (char c : spec.substr(0, spec.find(' ')))
      if (c != '_') name += c;
    return name;
  };
  // Examples of one drafter are told apart by their number among its own, so
  // that another drafter's row changes no name.
  const std::string name = name_of(drafter);
  int number = 0;
  for (const std::string& spec : DrafterSpecs()) {
    if (spec == drafter) break;
    if (name_of(spec) == name) ++number;
  }
  return absl::StrCat(name, number, "_", NameOf(size));
}

INSTANTIATE_TEST_SUITE_P(
    Catalogue, EveryDrafter,
    testing::Combine(testing::ValuesIn(DrafterSpecs()),
                     testing::Values(ProofSize{2, 1, 4, 200'000, true},
                                     ProofSize{3, 1, 3, 200'000, true},
                                     ProofSize{2, 2, 6, 20'000, false},
                                     ProofSize{3, 2, 4, 5'000, false})),
    TestName);

}  // namespace
}  // namespace banyan
