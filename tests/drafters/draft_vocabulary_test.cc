// The list of tokens that a drafter has logits for.
#include "drafters/draft_vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "core/tokenizer/vocabulary.h"
#include "drafters/catalogue.h"
#include "drafters/drafter.h"
#include "drafters/workbench.h"
#include "tests/conformance/toys.h"
#include "tests/core/checkpoint/files.h"
#include "tests/drafters/asking.h"
#include "tests/support/made/toy_tokenizer.h"
#include "tests/support/shared_models.h"
#include "tests/support/solo.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string ReadError(const std::string& text) {
  const TestFolder folder;
  const std::string path = folder.Write("list.json", text);
  const absl::Status status = ReadDraftVocabulary(path).status();
  if (status.ok()) return "";
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), testing::StartsWith(path));
  return std::string(status.message()).substr(path.size());
}

std::string List(const std::string& tokens) {
  return absl::StrCat(
      "{\"tokenizer\": \"\", \"vocab_size\": 5, \"tokens\": ", tokens, "}");
}

TEST(DraftVocabulary, IsReadAsItWasWritten) {
  const TestFolder folder;
  const DraftVocabulary list = {"0123456789abcdef", 9, {1, 4, 8}};
  const auto read = ReadDraftVocabulary(folder.Write("list", ToJson(list)));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->tokenizer, list.tokenizer);
  EXPECT_EQ(read->vocab_size, 9);
  EXPECT_EQ(read->tokens, list.tokens);
  const auto other = ReadDraftVocabulary(folder.Write("list", List("[4, 0]")));
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_THAT(other->tokens, ElementsAre(0, 4));  // in order
}

TEST(DraftVocabulary, RefusesListsThatCannotBe) {
  EXPECT_EQ(ReadError(List("[1, 2]")), "");
  EXPECT_THAT(ReadError(List("[1, 2, 1]")),
              HasSubstr("tokens[2]: expected a token not listed "
                        "earlier, found 1"));
  EXPECT_THAT(ReadError(List("[5]")),
              HasSubstr("tokens[0]: expected a token from 0 to 4, found 5"));
  EXPECT_THAT(ReadError(List("[-1]")), HasSubstr("found -1"));
  EXPECT_THAT(ReadError(List("[]")),
              HasSubstr("tokens: expected at least one token"));
  EXPECT_THAT(ReadError(List("[1.5]")), HasSubstr("tokens[0]"));
  EXPECT_THAT(ReadError(List("3")), HasSubstr("tokens"));
  EXPECT_THAT(ReadError("{\"vocab_size\": 5, \"tokens\": [1]}"),
              HasSubstr("tokenizer"));
  EXPECT_THAT(ReadError("{\"tokenizer\": \"\", \"tokens\": [1]}"),
              HasSubstr("vocab_size"));
  EXPECT_THAT(ReadError("{\"tokenizer\": \"\", \"vocab_size\": 0, "
                        "\"tokens\": [1]}"),
              HasSubstr("vocab_size: expected a number from 1"));
  EXPECT_THAT(ReadError("{\"tokenizer\": \"\", \"vocab_size\": 5, \"more\": 1, "
                        "\"tokens\": [1]}"),
              HasSubstr("more"));
  EXPECT_THAT(ReadError("tokens"), HasSubstr(":1"));
  EXPECT_TRUE(absl::IsNotFound(ReadDraftVocabulary("no_such_list").status()));
}

// A bench with a small model and a folder for lists.
class Bench {
 public:
  explicit Bench(std::vector<std::string> tokens)
      : bench_(Toy({.vocab_size = 3, .seed = 1}),
               SamplingRule({.temperature = 1}), std::make_shared<Assets>()) {
    if (!tokens.empty()) bench_.SetTokenizer(ToyTokenizer(tokens));
    bench_.AddModel("draft", Toy({.vocab_size = 3, .seed = 2}));
  }

  absl::StatusOr<std::unique_ptr<Drafter>> Build(const std::string& keys,
                                                 const std::string& list) {
    folder_.Write("list.json", list);
    const auto section =
        ParseYaml(absl::StrCat("{name: small_model, model: draft", keys, "}"),
                  folder_.path() + "/method.yaml");
    return BuildDrafter(*section, bench_);
  }
  std::string Refusal(const std::string& list) {
    const auto built = Build(", vocabulary: list.json", list);
    return std::string(built.status().message());
  }

 private:
  TestFolder folder_;
  Workbench bench_;
};

TEST(DraftVocabulary, IsOfTheTargetsTokenizer) {
  const std::string own = NameOfTokens(*ToyTokenizer({"a", "b", "bb"}));
  const std::string list = ToJson({own, 3, {0, 2}});
  EXPECT_EQ(Bench({"a", "b", "bb"}).Refusal(list), "");
  EXPECT_EQ(Bench({}).Refusal(list), "");  // a target without a tokenizer
  EXPECT_EQ(Bench({"a", "b", "bb"}).Refusal(ToJson({"", 3, {0, 2}})), "");
  EXPECT_THAT(Bench({"a", "b", "c"}).Refusal(list),
              testing::AllOf(HasSubstr("method.yaml:1:"),
                             HasSubstr("expected the target's tokenizer, "),
                             HasSubstr(absl::StrCat("found ", own))));
  EXPECT_THAT(Bench({"a", "b", "bb"}).Refusal(ToJson({own, 4, {0, 2}})),
              HasSubstr("expected vocab_size 3, the target's, found 4"));
  EXPECT_THAT(Bench({}).Refusal("{"), HasSubstr("list.json"));
}

// A bench whose model has a folder, with a method file beside it.
class FolderBench {
 public:
  FolderBench()
      : bench_(Toy({.vocab_size = 3, .seed = 1}),
               SamplingRule({.temperature = 1}), std::make_shared<Assets>()) {
    const Origin place = {std::make_shared<const std::string>(Method()), 2, 9};
    std::filesystem::create_directory(folder_.path() + "/small");
    bench_.AddModel("draft", Toy({.vocab_size = 3, .seed = 2}), nullptr,
                    Params::Scalar("small", place));
    bench_.AddModel("copy", Toy({.vocab_size = 3, .seed = 2}));
    folder_.Write("other.json", ToJson({"", 3, {0}}));
  }
  std::string Method() const { return folder_.path() + "/method.yaml"; }
  void WriteList(const std::string& text) {
    folder_.Write("small/vocabulary.json", text);
  }
  Params Section(const std::string& keys) const {
    return *ParseYaml(absl::StrCat("{name: small_model, ", keys, "}"),
                      Method());
  }
  absl::StatusOr<std::unique_ptr<Drafter>> Build(const std::string& keys) {
    return BuildDrafter(Section(keys), bench_);
  }
  // The tokens that it proposes.
  std::vector<TokenId> Drafted(const std::string& keys) {
    auto built = Build(keys);
    EXPECT_TRUE(built.ok()) << built.status();
    if (!built.ok()) return {};
    Solo drafter(*std::move(built));
    const Context context = BeginWith(drafter, {3, 0, 1});
    const Distribution q = AtRoot(drafter, context, DrawKind::kIndependent);
    std::vector<TokenId> tokens;
    for (TokenId token = 0; token < 3; ++token)
      if (q.Mass(token) > 0) tokens.push_back(token);
    return tokens;
  }
  Workbench& bench() { return bench_; }
  const TestFolder& folder() const { return folder_; }

 private:
  TestFolder folder_;
  Workbench bench_;
};

TEST(DraftVocabulary, IsThatOfTheModelsFolderUnlessOneIsNamed) {
  FolderBench bench;
  EXPECT_THAT(bench.Drafted("model: draft"), ElementsAre(0, 1, 2));
  bench.WriteList(ToJson({"", 3, {1, 2}}));
  EXPECT_THAT(bench.Drafted("model: draft"), ElementsAre(1, 2));
  EXPECT_THAT(bench.Drafted("model: draft, vocabulary: other.json"),
              ElementsAre(0));
  EXPECT_THAT(bench.Drafted("model: draft, vocabulary: all"),
              ElementsAre(0, 1, 2));
  EXPECT_THAT(bench.Drafted("model: draft, vocabulary: "
                            "small/vocabulary.json"),
              ElementsAre(1, 2));
  // A model without a folder of its own, as the target's copy.
  EXPECT_THAT(bench.Drafted("model: copy"), ElementsAre(0, 1, 2));
  // Of a drafter in another one too.
  const auto cascade = ParseYaml(
      "{name: cascade, upper: {name: small_model, model: draft}, "
      "lower: {name: ngram}}",
      bench.Method());
  auto built = BuildDrafter(*cascade, bench.bench());
  ASSERT_TRUE(built.ok()) << built.status();
  Solo drafter(*std::move(built));
  const Context context = BeginWith(drafter, {3, 0, 1});
  const Distribution q = AtRoot(drafter, context, DrawKind::kIndependent);
  EXPECT_EQ(q.Mass(0), 0);
  EXPECT_GT(q.Mass(1), 0);
}

TEST(DraftVocabulary, ThatWasFoundIsRefusedWhereItsFolderIsNamed) {
  FolderBench bench;
  const auto refusal = [&](const std::string& list) {
    bench.WriteList(list);
    return std::string(bench.Build("model: draft").status().message());
  };
  const std::string file = bench.folder().path() + "/small/vocabulary.json";
  const auto hint = testing::EndsWith("; `vocabulary: all` drafts every token");
  EXPECT_THAT(
      refusal("{\"tokenizer\": \"\", \"vocab_size\": 3, \"tokens\": [7]}"),
      testing::AllOf(testing::StartsWith(bench.Method() + ":2:9: "),
                     HasSubstr(file + ": "),
                     HasSubstr("tokens[0]: expected a token from 0 to 2"),
                     hint));
  EXPECT_THAT(refusal(ToJson({"", 4, {0}})),
              testing::AllOf(testing::StartsWith(bench.Method() + ":2:9: "),
                             HasSubstr(file),
                             HasSubstr("expected vocab_size 3"), hint));
  EXPECT_THAT(refusal("[\"a\", \"b\"]"), HasSubstr(file));
  EXPECT_THAT(bench.Drafted("model: draft, vocabulary: all"),
              ElementsAre(0, 1, 2));
  // A link that leads nowhere is no folder without a list.
  std::filesystem::remove(file);
  std::filesystem::create_symlink("gone.json", file);
  EXPECT_THAT(std::string(bench.Build("model: draft").status().message()),
              HasSubstr(file));
}

TEST(DraftVocabulary, IsToldOfEveryDrafterThatMayHaveOne) {
  FolderBench bench;
  bench.WriteList(ToJson({"", 3, {1, 2}}));
  const auto section = ParseYaml(
      "{name: relay, spans: [{levels: 1, drafter: {name: small_model, model: "
      "draft}}, {levels: 1, drafter: {name: ngram}}, {drafter: {name: "
      "small_model, model: copy}}]}",
      bench.Method());
  ASSERT_TRUE(BuildDrafter(*section, bench.bench()).ok());
  const auto drafted = DraftedTokensOf(*section, bench.bench());
  ASSERT_TRUE(drafted.ok()) << drafted.status();
  ASSERT_EQ(drafted->size(), 2U);
  EXPECT_EQ(drafted->at(0).model, "draft");
  EXPECT_EQ(drafted->at(0).file, std::filesystem::path(bench.folder().path() +
                                                       "/small/vocabulary.json")
                                     .lexically_normal());
  EXPECT_EQ(drafted->at(0).tokens, 2);
  EXPECT_EQ(drafted->at(1).model, "copy");
  EXPECT_EQ(drafted->at(1).file, "");
  EXPECT_THAT(ModelsOf(*section), ElementsAre("draft", "copy"));
}

TEST(DraftVocabulary, LeavesProposalsOfItsTokensAlone) {
  Bench bench({});
  Solo whole(*bench.Build("", "{}"));
  Solo some(*bench.Build(", vocabulary: list.json", ToJson({"", 3, {0, 2}})));
  const Context context = BeginWith(whole, {3, 0, 1});
  BeginWith(some, {3, 0, 1});
  for (const DrawKind draws : kDrawKinds) {
    const Distribution all = AtRoot(whole, context, draws);
    const Distribution part = AtRoot(some, context, draws);
    EXPECT_GT(all.Mass(1), 0);
    EXPECT_EQ(part.Mass(1), 0);
    const double rest = all.Mass(0) + all.Mass(2);
    EXPECT_NEAR(part.Mass(0), all.Mass(0) / rest, 1e-12);
    EXPECT_NEAR(part.Mass(2), all.Mass(2) / rest, 1e-12);
  }
}

}  // namespace
}  // namespace banyan
