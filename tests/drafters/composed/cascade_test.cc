// A cascade drafts what its upper drafter drafts, in no more passes.
#include "drafters/composed/cascade/cascade.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/bytes.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/table_model.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "drafters/catalogue.h"
#include "drafters/composed/inner_drafters.h"
#include "drafters/drafter.h"
#include "drafters/drafting.h"
#include "drafters/heads/eagle/head.h"
#include "drafters/small_models/small_model/small_model.h"
#include "drafters/workbench.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/toys.h"
#include "tests/core/checkpoint/files.h"
#include "tests/drafters/asking.h"
#include "tests/drafters/counted.h"
#include "tests/drafters/trying.h"
#include "tests/support/drafting.h"
#include "tests/support/made/toy_head.h"
#include "tests/support/shared_models.h"
#include "tests/support/solo.h"
#include "tree/draft_tree.h"
#include "tree/policies/catalogue.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

using ::testing::HasSubstr;

constexpr int kVocab = 4;

// A penalty, so that the history matters beside the cache.
SamplingRule Rule() {
  return SamplingRule({.repetition_penalty = 1.3, .temperature = 0.8});
}

std::unique_ptr<Drafter> ModelOf(int seed) {
  return std::make_unique<SmallModel>(Toy({.vocab_size = kVocab, .seed = seed}),
                                      Rule());
}

constexpr int kUpper = 5;  // the seed of the upper drafter's model

std::unique_ptr<Drafter> CascadeOf(std::unique_ptr<Drafter> upper,
                                   std::unique_ptr<Drafter> lower,
                                   CascadeOptions options = {}) {
  if (options.context_limit == 0) options.context_limit = 1 << 20;
  std::vector<std::unique_ptr<Drafter>> parts;
  parts.push_back(std::move(upper));
  parts.push_back(std::move(lower));
  return std::make_unique<Cascade>(InnerDrafters(std::move(parts)), options);
}

// A drafter with the count of the upper one.
struct Tried {
  std::shared_ptr<AskedSoFar> asked;
  Solo drafter;
};

Tried Alone() {
  auto asked = std::make_shared<AskedSoFar>();
  return {asked, Solo(std::make_unique<AskCounter>(ModelOf(kUpper), asked))};
}

// The same, drafted for by `lower`.
Tried Above(std::unique_ptr<Drafter> lower,
            const CascadeOptions& options = {}) {
  auto asked = std::make_shared<AskedSoFar>();
  return {asked,
          Solo(CascadeOf(std::make_unique<AskCounter>(ModelOf(kUpper), asked),
                         std::move(lower), options))};
}

std::vector<Tried> Cascades() {
  const AskedFor small = {.vocab_size = kVocab};
  std::vector<Tried> cascades;
  cascades.push_back(Above(ModelOf(kUpper)));
  cascades.push_back(Above(ModelOf(kUpper), {.ahead = 2, .width = 2}));
  cascades.push_back(Above(ModelOf(6), {.ahead = 1, .width = 3}));
  cascades.push_back(Above(MustBuild("ngram {history: 0}", small)));
  cascades.push_back(Above(MustBuild("copy {min_match: 1}", small)));
  cascades.push_back(Above(MustBuild("random {}", small), {.ahead = 3}));
  cascades.push_back(
      Above(CascadeOf(ModelOf(kUpper), MustBuild("copy {min_match: 1}", small)),
            {.ahead = 3}));
  return cascades;
}

std::vector<std::string> Policies(DrawKind draw_kind) {
  std::vector<std::string> specs;
  for (const PolicyRow& row : PolicyCatalogue())
    for (absl::string_view example : row.examples) {
      const std::string spec = absl::StrCat(row.name, " ", example);
      const std::vector<DrawKind> draw_kinds =
          PolicyOf(spec)->traits().draw_kinds;
      // Whose draws are shared only heads can serve.
      if (std::find(draw_kinds.begin(), draw_kinds.end(), draw_kind) !=
              draw_kinds.end() &&
          !PolicyOf(spec)->traits().shares_draws)
        specs.push_back(spec);
    }
  return specs;
}

// Runs a drafting that ends after `passes` passes.
void DraftPartly(Solo& drafter, const TreePolicy& policy,
                 const DraftOptions& options, int passes) {
  SeededSource random(options.seed);
  Drafting drafting(
      {TrunkView{drafter.drafter(), drafter.session(), policy,
                 options.draw_kind, options.trunk}},
      options.context, options.limits,
      Chance(random, options.context.prompt, options.context.round));
  ASSERT_TRUE(drafting.Advance().ok());
  for (; passes > 0 && !drafting.wanted().empty(); --passes) {
    const DraftRequest request = drafting.Request();
    auto answers = drafter.drafter().Propose({&request, 1});
    ASSERT_TRUE(answers.ok()) << answers.status();
    ASSERT_TRUE(drafting.Answer(std::move(answers->front())).ok());
  }
}

// Rounds of both beside each other, some abandoned on the way; how many passes
// were saved.
int RunRounds(Tried& alone, Tried& cascade, DrawKind draw_kind,
              std::uint64_t seed) {
  const std::vector<std::string> policies = Policies(draw_kind);
  std::mt19937_64 bits(seed);
  Context context = ContextOf({kVocab, 1, 3, 0, 1, 3});
  EXPECT_TRUE(alone.drafter.Begin(context).ok());
  EXPECT_TRUE(cascade.drafter.Begin(context).ok());
  int saved = 0;
  for (int round = 0; round < 25; ++round) {
    for (auto abandoned = bits() % 3; abandoned > 0; --abandoned) {
      const auto policy = PolicyOf(policies[bits() % policies.size()]);
      DraftPartly(cascade.drafter, *policy,
                  {.draw_kind = draw_kind, .seed = bits(), .context = context},
                  static_cast<int>(bits() % 4));
    }
    const std::string spec = policies[bits() % policies.size()];
    SCOPED_TRACE(
        absl::StrCat("round ", round, " of ", spec, " ", Name(draw_kind)));
    const DraftOptions options = {
        .draw_kind = draw_kind,
        .limits = {.max_depth = 1 + static_cast<int>(bits() % 6)},
        .seed = bits(),
        .context = context};
    const int before = alone.asked->passes;
    const int cascaded_before = cascade.asked->passes;
    const TrunkTree expected =
        MustDraft(alone.drafter, *PolicyOf(spec), options);
    const TrunkTree tree = MustDraft(cascade.drafter, *PolicyOf(spec), options);
    ExpectSameTree(tree, expected);
    const int passes = alone.asked->passes - before;
    const int cascaded = cascade.asked->passes - cascaded_before;
    EXPECT_LE(cascaded, passes);
    saved += passes - cascaded;
    EndRound(expected, kVocab, bits, {&alone.drafter, &cascade.drafter},
             context);
  }
  return saved;
}

TEST(Cascade, TheDrawsAreThoseWithoutIt) {
  for (DrawKind draw_kind : kDrawKinds) {
    int saved = 0;
    for (Tried& cascade : Cascades())
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        Tried alone = Alone();
        saved += RunRounds(alone, cascade, draw_kind, seed);
      }
    EXPECT_GT(saved, 50) << Name(draw_kind);
  }
}

// The passes that draft a chain of five after a lower drafter that is always
// right.
int PassesOf(int ahead) {
  Tried cascade = Above(ModelOf(kUpper), {.ahead = ahead});
  const Context context = ContextOf({kVocab, 1, 3});
  EXPECT_TRUE(cascade.drafter.Begin(context).ok());
  MustDraft(cascade.drafter, *PolicyOf("chain {nodes: 5}"),
            {.draw_kind = DrawKind::kDeterministic, .context = context});
  return cascade.asked->passes;
}

TEST(Cascade, AGuessThatIsRightSavesItsPass) {
  EXPECT_EQ(PassesOf(1), 3);
  EXPECT_EQ(PassesOf(2), 2);
  EXPECT_EQ(PassesOf(4), 1);
}

TEST(Cascade, SequencesSharePassesOfBothDrafters) {
  const auto policy = PolicyOf("expansion {branching: [2, 1, 1, 1]}");
  auto lower_asked = std::make_shared<AskedSoFar>();
  Tried cascade = Above(std::make_unique<AskCounter>(ModelOf(6), lower_asked),
                        {.ahead = 2});
  std::vector<std::unique_ptr<Solo>> own;
  std::vector<Context> contexts;
  std::vector<Solo*> drafters;
  for (int i = 0; i < 5; ++i) {
    own.push_back(cascade.drafter.Another());
    contexts.push_back(ContextOf({kVocab, i % kVocab, 2}));
    contexts.back().prompt = static_cast<std::uint32_t>(i);
    ASSERT_TRUE(own.back()->Begin(contexts.back()).ok());
    drafters.push_back(own.back().get());
  }
  const std::vector<TrunkTree> together =
      DraftTogether(drafters, contexts, *policy);
  EXPECT_LE(cascade.asked->passes, 4) << "of the upper, a level one";
  EXPECT_LE(lower_asked->passes, 4 * 3)
      << "for each of them two levels, and what was not guessed";
  for (std::size_t i = 0; i < drafters.size(); ++i) {
    Tried alone = Alone();
    ASSERT_TRUE(alone.drafter.Begin(contexts[i]).ok());
    ExpectSameTree(
        together[i],
        DraftTogether({&alone.drafter}, {contexts[i]}, *policy).front());
  }
}

TEST(Cascade, NobodyIsAskedBehindWhatHeHolds) {
  const Context context = ContextOf({kVocab, 1, 3});  // a text of three
  for (int upper = 3; upper < 9; ++upper)
    for (int lower = 2; lower < 9; ++lower)
      for (int target = 4; target < 10; ++target) {
        SCOPED_TRACE(absl::StrCat(upper, " ", lower, " ", target));
        auto asked = std::make_shared<AskedSoFar>();
        auto lower_asked = std::make_shared<AskedSoFar>();
        std::vector<std::unique_ptr<Drafter>> parts;
        for (const auto& [limit, count] :
             {std::pair(upper, asked), std::pair(lower, lower_asked)})
          parts.push_back(std::make_unique<AskCounter>(
              std::make_unique<SmallModel>(
                  Limited(Toy({.vocab_size = kVocab, .seed = kUpper}), limit),
                  Rule()),
              count));
        Solo cascade(std::make_unique<Cascade>(
            InnerDrafters(std::move(parts)),
            CascadeOptions{.ahead = 5, .context_limit = target}));
        EXPECT_EQ(cascade.traits().longest_text, upper);
        ASSERT_TRUE(cascade.Begin(context).ok());
        const absl::StatusOr<TrunkTree> tree =
            TryDraft(cascade, *PolicyOf("chain {nodes: 9}"),
                     {.draw_kind = DrawKind::kDeterministic,
                      .limits = {.max_depth = target - 3},
                      .context = context});
        ASSERT_TRUE(tree.ok()) << tree.status();
        EXPECT_EQ(asked->longest, std::min(upper, target - 1));
        EXPECT_LE(lower_asked->longest,
                  std::min({lower, upper - 1, target - 2}));
      }
}

// A bench with models `draft` and `other`, of another vocabulary, and a head.
absl::Status TryWithModels(const std::string& text) {
  const auto target = WithStates(*Toy({.vocab_size = kVocab}));
  Workbench bench(target, Rule(), std::make_shared<Assets>());
  bench.AddModel("draft", Toy({.vocab_size = kVocab}));
  bench.AddModel("other", Toy({.vocab_size = kVocab + 1}));
  const TestFolder folder;
  bench.AddFolder("head", "heads", Params::Scalar(folder.path()));
  const auto head = bench.OpenFolder<EagleHead>(
      "heads", Params::Scalar("head"), [&](const std::string& /*path*/) {
        return std::make_unique<ToyHead>(
            WithStates(*Toy({.vocab_size = kVocab})));
      });
  EXPECT_TRUE(head.ok()) << head.status();
  const absl::StatusOr<Params> section = ParseYaml(text, "drafter.yaml");
  if (!section.ok()) return section.status();
  return BuildDrafter(*section, bench).status();
}

std::string MessageOf(const std::string& text) {
  return std::string(TryWithModels(text).message());
}

TEST(DrafterTitle, NamesWhatADrafterIsMadeOf) {
  const auto title = [](const std::string& text) {
    const absl::StatusOr<Params> section = ParseYaml(text, "drafter.yaml");
    EXPECT_TRUE(section.ok()) << section.status();
    return DrafterTitle(*section);
  };
  EXPECT_EQ(title("{name: copy, sampling: {temperature: 1}}"), "copy");
  EXPECT_EQ(title("{name: relay, spans: [{levels: 1, drafter: {name: copy}},"
                  " {drafter: {name: cascade, lower: {name: ngram},"
                  " upper: {name: small_model, model: copy}}}]}"),
            "relay(copy, cascade(ngram, small_model))");
}

TEST(Cascade, RefusesWhatCannotBeOne) {
  constexpr char kGood[] =
      "{name: cascade, upper: {name: small_model, model: draft}, lower: {name: "
      "eagle, head: head}}";
  EXPECT_EQ(MessageOf(kGood), "");
  EXPECT_EQ(MessageOf("name: cascade\nlower: {name: copy}\n"
                      "upper: {name: eagle, head: head}\n"),
            "drafter.yaml:3:8: cascade: drafter eagle proposes level by level, "
            "so no guess of drafter copy can save it a pass");
  EXPECT_EQ(MessageOf("name: cascade\nupper: {name: copy}\n"
                      "lower: {name: small_model, model: other}\n"),
            "drafter.yaml:3:35: the drafter has a vocabulary of 5, the target "
            "one of 4; drafters common_tokens and retokenized take a model "
            "with tokens of its own");
  EXPECT_EQ(MessageOf("&a {name: cascade, upper: {name: copy}, lower: *a}"),
            "drafter.yaml:1:48: the alias stands inside the value it names");
  EXPECT_THAT(MessageOf("{name: cascade, upper: {name: copy}}"),
              HasSubstr("missing key 'lower'"));
  const auto with = [&](const std::string& keys) {
    return MessageOf(
        absl::StrCat("{name: cascade, upper: {name: copy}, lower: "
                     "{name: copy}, ",
                     keys, "}"));
  };
  EXPECT_EQ(with("ahead: 4096"), "");
  EXPECT_THAT(with("ahead: 4097"), HasSubstr("'ahead' must lie between 1 and"));
  EXPECT_THAT(with("ahead: 0"), HasSubstr("'ahead' must lie between 1 and"));
  EXPECT_EQ(with("ahead: 11, width: 2"), "");
  EXPECT_THAT(with("ahead: 12, width: 2"), HasSubstr("at most 4096 guesses"));
  EXPECT_THAT(with("width: 0"), HasSubstr("'width' must be at least 1"));
  EXPECT_THAT(with("depth: 1"), HasSubstr("unknown key 'depth'"));
}

// One part cannot read what it said: none takes over anything.
TEST(Cascade, TakesOverALessonWholeOrNotAtAll) {
  const std::vector<TokenId> text = {1, 2, 3};
  const auto lesson = [](const std::string& of_upper,
                         const std::string& of_lower) {
    ByteWriter out;
    out.Put(of_upper);
    out.Put(of_lower);
    return out.Take();
  };
  const std::string prompt("\1\0\0\0", 4);
  const auto cascade = MustAsk(
      "cascade {upper: {name: suffix, reset: never}, "
      "lower: {name: sam, reset: never}}",
      {.vocab_size = kVocab});
  EXPECT_EQ(cascade->Absorb(text, lesson(prompt, "torn")).code(),
            absl::StatusCode::kDataLoss);
  for (const Carried& one : cascade->holdings()) EXPECT_EQ(one.held, 0);
  ASSERT_TRUE(cascade->Absorb(text, lesson(prompt, prompt)).ok());
  for (const Carried& one : cascade->holdings()) EXPECT_EQ(one.held, 1);
}

TEST(Cascade, IsItsPartsToWhoeverAsks) {
  const AskedFor small = {.vocab_size = kVocab};
  const auto cascade = [&](const std::string& upper, const std::string& lower) {
    return MustAsk(absl::StrCat("cascade {upper: {name: ", upper,
                                "}, lower: {name: ", lower, "}}"),
                   small);
  };
  EXPECT_EQ(cascade("copy", "ngram")->traits().draw_kinds,
            std::vector<DrawKind>({DrawKind::kDeterministic}));
  EXPECT_EQ(cascade("ngram", "copy")->traits().draw_kinds.size(), 3);
  EXPECT_EQ(cascade("ngram", "copy")->drafter().carried(), nullptr);
  const auto learning = cascade("ngram, reset: never", "copy");
  EXPECT_NE(learning->drafter().carried(), nullptr);
  EXPECT_NE(cascade("copy", "ngram, reset: never")->drafter().carried(),
            nullptr);
  // What a session taught is there for the next prompt.
  const auto ended = learning->Another();
  const std::vector<TokenId> text = BeginWith(*ended, {1, 2, 3}).tokens;
  EXPECT_TRUE(AtRoot(*learning, BeginWith(*learning, {1})).empty());
  const std::string learnt = ended->End();
  ASSERT_TRUE(learning->Absorb(text, learnt).ok());
  EXPECT_EQ(Ranked(AtRoot(*learning, BeginWith(*learning, {1}))),
            std::vector<TokenId>({2}));
  ASSERT_EQ(learning->holdings().size(), 1);
  EXPECT_EQ(learning->holdings()[0].unit, "tokens");
  EXPECT_EQ(learning->holdings()[0].held, 3)
      << "two other prompts were begun, and have not ended";
  for (const std::string& bad : {learnt + "x", learnt.substr(1), std::string()})
    EXPECT_FALSE(learning->Absorb(text, bad).ok());
}

}  // namespace
}  // namespace banyan
