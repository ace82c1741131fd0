#include "drafters/heads/pass/pass.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/check.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/model/table_model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "core/transformer/transformer.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/round.h"
#include "decode/sequence.h"
#include "drafters/catalogue.h"
#include "drafters/workbench.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/pairing.h"
#include "tests/conformance/toys.h"
#include "tests/core/checkpoint/files.h"
#include "tests/core/transformer/walk.h"
#include "tests/drafters/asking.h"
#include "tests/support/close_logits.h"
#include "tests/support/decoding.h"
#include "tests/support/made/golden_model.h"
#include "tests/support/must_read.h"
#include "tests/support/shared_models.h"
#include "tests/support/solo.h"
#include "tests/support/tree_text.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/merge.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::shared_ptr<const LookaheadChain> ChainOf(std::vector<TokenId> tokens) {
  auto chain = std::make_shared<LookaheadChain>();
  for (const TokenId token : tokens)
    chain->push_back({.vector = std::make_shared<const std::vector<float>>(
                          std::vector<float>{static_cast<float>(token), 0})});
  return chain;
}

// A round of one sequence, by hand: what the target says of a tree.
struct Scored {
  Scored(const Model& target, const std::vector<TokenId>& text,
         const DraftTree& tree)
      : session(target.NewSession()) {
    Check(session->Prefill({text.data(), text.size() - 1}).ok(), "a prompt");
    const TokenBatch batch = ToBatch(tree, session->length());
    RowVectors vectors = VectorsOf(tree);
    auto made = target.Score({{.session = session.get(),
                               .batch = &batch,
                               .vectors = vectors.values,
                               .vector_rows = vectors.rows}});
    Check(made.ok(), made.status().message());
    scores = std::move(made->front());
  }
  std::unique_ptr<Session> session;
  std::unique_ptr<Scores> scores;
};

Solo Passing(std::shared_ptr<const LookaheadChain> chain, int after,
             const SamplingOptions& sampling = {}) {
  return Solo(
      std::make_unique<Pass>(std::move(chain), after, SamplingRule(sampling)));
}

std::string PlantedOn(const Solo& drafter, const std::string& text,
                      int max_depth) {
  TrunkTree tree = ParseGrowth(text);
  PlantProbes(drafter, ContextOf({9}), max_depth, tree);
  return ToText(tree);
}

TEST(Pass, PlantsItsChainAfterTheLikeliestNodes) {
  // Uniform proposals: a path's mass falls with its depth; ties go by order.
  for (const auto& [after, planted] : std::vector<std::pair<int, std::string>>{
           {1, "9(2(1) 5 *0(*0))"},
           {2, "9(2(1 *0(*0)) 5 *0(*0))"},
           {9, "9(2(1(*0(*0)) *0(*0)) 5(*0(*0)) *0(*0))"}}) {
    const Solo drafter = Passing(ChainOf({1, 2}), after);
    EXPECT_EQ(PlantedOn(drafter, "9(2(1) 5)", 100), planted);
    EXPECT_EQ(drafter.traits().probes, 2 * after);
  }
  const Solo drafter = Passing(ChainOf({1, 2}), 9);
  EXPECT_EQ(PlantedOn(drafter, "9(2(1) 5)", 2), "9(2(1 *0) 5(*0) *0(*0))")
      << "the context ends";
}

// The rows after the accepted node are those of a text in which the links
// stand in the place of the tokens to come.
TEST(Pass, DraftsByTheRowsBehindTheLastAcceptedNode) {
  const auto target = WithStates(*Toy({.vocab_size = 3}));
  const std::vector<TokenId> text = {0, 1, 2, 0};
  for (const std::vector<int>& path :
       std::vector<std::vector<int>>{{}, {1}, {1, 2}}) {
    Solo drafter = Passing(ChainOf({2, 1}), 9);
    Context context = BeginWith(drafter, text);
    EXPECT_TRUE(AtRoot(drafter, context).empty()) << "nothing is known yet";
    TrunkTree grown = ParseGrowth("0(1(2))", 0, DrawKind::kIndependent, 3);
    PlantProbes(drafter, context, 100, grown);
    const DraftTree tree = Merge({&grown, 1});
    const Scored round(*target, text, tree);
    const Verdict verdict = {.path = path, .next = 1};
    std::vector<TokenId> seen = text;
    for (const TokenId token : TokensOf(tree, verdict))
      context.tokens.push_back(token);
    seen.insert(seen.end(), context.tokens.begin() + 4,
                context.tokens.end() - 1);
    context.scored = round.scores.get();
    ASSERT_TRUE(drafter.Observe(context, {tree, verdict, 0}).ok());
    context.scored = nullptr;
    const auto laws = drafter.Propose(
        context, ParseGrowth("1(0(2))", 0, DrawKind::kIndependent, 3),
        std::vector<int>{0, 1, 2});
    ASSERT_TRUE(laws.ok()) << laws.status();
    for (std::size_t link = 0; link < 2; ++link) {
      seen.push_back(link == 0 ? 2 : 1);
      EXPECT_TRUE(Equal((*laws)[link], LawAfter(*target, seen)))
          << "link " << link << " after a path of " << path.size();
    }
    EXPECT_TRUE((*laws)[2].empty()) << "below the last link";
  }
}

TEST(Pass, HasNothingToSayAfterANodeWithoutAChain) {
  const auto target = WithStates(*Toy({.vocab_size = 3}));
  Solo drafter = Passing(ChainOf({2, 1}), 1);
  Context context = BeginWith(drafter, {0, 1});
  TrunkTree grown = ParseGrowth("1(1)", 0, DrawKind::kIndependent, 3);
  PlantProbes(drafter, context, 100, grown);
  const DraftTree tree = Merge({&grown, 1});
  const Scored round(*target, {0, 1}, tree);
  context.scored = round.scores.get();
  ASSERT_TRUE(drafter.Observe(context, {tree, {.next = 0}, 0}).ok());
  EXPECT_FALSE(AtRoot(drafter, context).empty());
  ASSERT_TRUE(
      drafter.Observe(context, {tree, {.path = {1}, .next = 0}, 0}).ok());
  EXPECT_TRUE(AtRoot(drafter, context).empty());
  ASSERT_TRUE(drafter.Observe(context, {tree, {.next = 0}, 1}).ok());
  EXPECT_TRUE(AtRoot(drafter, context).empty()) << "another trunk's probes";
}

TEST(Pass, RanksByTheMassesOfTemperatureOneWhenGreedy) {
  const auto target = WithStates(*Toy({.vocab_size = 3}));
  Solo drafter = Passing(ChainOf({2}), 1, {.temperature = 0});
  Context context = BeginWith(drafter, {0, 1});
  TrunkTree grown(1, 0, DrawKind::kIndependent);
  PlantProbes(drafter, context, 100, grown);
  const DraftTree tree = Merge({&grown, 1});
  const Scored round(*target, {0, 1}, tree);
  context.scored = round.scores.get();
  ASSERT_TRUE(drafter.Observe(context, {tree, {.next = 0}, 0}).ok());
  EXPECT_EQ(Ranked(AtRoot(drafter, context, DrawKind::kDeterministic)).size(),
            3);
  EXPECT_EQ(Ranked(AtRoot(drafter, context)).size(), 1);
}

// With a transformer: the tree's rows are what they are without a chain.
TEST(Pass, LeavesATransformersGreedyTextAsItIs) {
  const auto target = LoadGolden("llama", BackendOf("cpu"));
  const int size = target->hidden_size();
  LookaheadChain chain;
  for (int link = 0; link < 3; ++link) {
    std::vector<float> vector(static_cast<std::size_t>(size));
    for (int i = 0; i < size; ++i)
      vector[static_cast<std::size_t>(i)] =
          static_cast<float>((7 * i + 3 * link) % 11 - 5) / 40;
    chain.push_back(
        {.vector = std::make_shared<const std::vector<float>>(vector)});
  }
  const Prompt prompt = {.tokens = {1, 2, 3, 4}};
  const StopRule stop = {.max_new_tokens = 30};
  const SamplingOptions greedy = {.temperature = 0};
  const auto plain =
      MustDecodePlainly(*target, SamplingRule(greedy), prompt, stop);
  for (const char* policy :
       {"chain {nodes: 3}", "best_first {most_draws: 6}"}) {
    std::vector<Trunk> trunks;
    trunks.push_back(TrunkOf(
        std::make_unique<Pass>(std::make_shared<const LookaheadChain>(chain), 4,
                               SamplingRule(greedy)),
        policy, DrawKind::kDeterministic));
    auto decoder =
        WithTrunks(*target, "multi_round", std::move(trunks), greedy);
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    const Decoded decoded = MustDecode(*decoder, prompt, stop);
    EXPECT_EQ(decoded.tokens, plain) << policy;
    EXPECT_EQ(decoded.rounds.front().tree.Drafted(), 0);
    EXPECT_EQ(decoded.rounds.front().tree.size(), 1 + 3);
    EXPECT_GT(decoded.rounds[1].tree.Drafted(), 0);
  }
}

// After a text, in the pass that reads its last token.
TEST(Pass, VectorsThatShipAgreeWithPyTorch) {
  const auto target = LoadModel("models/pycode-target", BackendOf("cpu"));
  const auto chain = LoadLookaheadChain("models/pycode-lookahead", *target);
  ASSERT_TRUE(chain.ok()) << chain.status();
  const auto goldens = ReadShippedGoldens("pycode-lookahead");
  ASSERT_EQ(goldens.size(), 3U);
  for (const ShippedGolden& golden : goldens) {
    TrunkTree grown(golden.ids.back(), 0, DrawKind::kIndependent);
    PlantProbes(Passing(std::make_shared<const LookaheadChain>(**chain), 1),
                ContextOf(golden.ids), 100, grown);
    const Scored round(*target, golden.ids, Merge({&grown, 1}));
    ASSERT_EQ(golden.rows.size(), (*chain)->size());
    for (std::size_t link = 0; link < golden.rows.size(); ++link)
      ExpectClose(MustRead(*round.scores, static_cast<int>(link) + 1),
                  golden.rows[link], "vector " + std::to_string(link + 1));
  }
}

class PassFiles : public testing::Test {
 protected:
  PassFiles() {
    Write(R"({"hidden_size": 2, "vocab_size": 8,
                          "lookahead_vectors": 2})",
          {2, 2}, {1, 2, 3, 4});
  }

  void Write(const std::string& config, std::vector<std::int64_t> shape,
             const std::vector<float>& values,
             const std::string& name = "lookahead.embeddings") {
    folder_.Write("config.json", config);
    folder_.Write(
        "model.safetensors",
        SafetensorsFile({{name, {"F32", std::move(shape), Stored(values)}}}));
  }

  // What is said of a drafter of this folder.
  std::string Said(const std::string& spec = "pass {embeddings: trained}") {
    Workbench bench(WithStates(*Limited(Toy({.vocab_size = 8}), 6)),
                    SamplingRule(), std::make_shared<Assets>());
    bench.AddFolder("trained", "embeddings", Params::Scalar(folder_.path()));
    const auto section = ParseYaml(Section(spec), "method.yaml");
    Check(section.ok(), section.status().message());
    return std::string(BuildDrafter(*section, bench).status().message());
  }

  TestFolder folder_;
};

TEST_F(PassFiles, AreReadAsTheyWereWritten) {
  const auto chain =
      LoadLookaheadChain(folder_.path(), *WithStates(*Toy({.vocab_size = 8})));
  ASSERT_TRUE(chain.ok()) << chain.status();
  ASSERT_EQ((*chain)->size(), 2);
  EXPECT_THAT(*(**chain)[0].vector, ElementsAre(1, 2));
  EXPECT_THAT(*(**chain)[1].vector, ElementsAre(3, 4));
  EXPECT_THAT(Said(), IsEmpty());
}

TEST_F(PassFiles, OfAnotherTargetAreRefused) {
  Write(R"({"hidden_size": 3, "vocab_size": 8, "lookahead_vectors": 2})",
        {2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(Said(), HasSubstr("config.json: hidden_size: expected 2, as the "
                                "target has, found 3"));
  Write(R"({"hidden_size": 2, "vocab_size": 9, "lookahead_vectors": 2})",
        {2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(Said(), HasSubstr("vocab_size: expected 8, as the target has"));
  Write(R"({"hidden_size": 2, "vocab_size": 8})", {2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(Said(), HasSubstr("lookahead_vectors"));
}

TEST_F(PassFiles, ThatAreBrokenAreRefusedByTheirTensor) {
  const std::string config =
      R"({"hidden_size": 2, "vocab_size": 8, "lookahead_vectors": 2})";
  Write(config, {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(Said(), HasSubstr("model.safetensors: tensor "
                                "'lookahead.embeddings': expected shape"));
  Write(config, {2, 2}, {1, 2, 3, 4}, "embeddings");
  EXPECT_THAT(Said(), HasSubstr("'lookahead.embeddings': is missing"));
  Write(config, {2, 2}, {1, 2, 3, std::numeric_limits<float>::infinity()});
  EXPECT_THAT(Said(), HasSubstr("row 1, column 1: expected a finite number"));
}

TEST_F(PassFiles, RefusesWhatCannotBe) {
  EXPECT_THAT(Said("pass {}"), HasSubstr("method.yaml:1:"));
  EXPECT_THAT(Said("pass {}"), HasSubstr("needs either embeddings"));
  EXPECT_THAT(Said("pass {embeddings: trained, tokens: [1]}"),
              HasSubstr("needs either embeddings"));
  EXPECT_THAT(Said("pass {embeddings: train}"), HasSubstr("trained"));
  EXPECT_THAT(Said("pass {tokens: [1, 8]}"),
              AllOf(HasSubstr("method.yaml:1:26"),
                    HasSubstr("a token of the target, below 8, found '8'")));
  EXPECT_THAT(Said("pass {tokens: [-1]}"), HasSubstr("found '-1'"));
  EXPECT_THAT(Said("pass {tokens: []}"), HasSubstr("some, found"));
  EXPECT_THAT(Said("pass {tokens: [1, 1, 1, 1, 1, 1]}"),
              HasSubstr("must leave room for the text: a chain has 6 links, "
                        "and the target's context is 6"));
  EXPECT_THAT(Said("pass {tokens: [1], after: 0}"),
              HasSubstr("must lie between 1 and 4096 nodes"));
  EXPECT_THAT(Said("pass {tokens: [1, 2], after: 2049}"),
              HasSubstr("must lie between 1 and 2048 nodes"));
  EXPECT_THAT(Said("pass {tokens: [1, 2], after: 2048}"), IsEmpty());
}

}  // namespace
}  // namespace banyan
