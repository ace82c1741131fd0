// Drafting from a corpus: which match, what is merged and what is kept of it.
#include "drafters/text/rest/rest.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
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
#include "drafters/text/plan_drafter.h"
#include "drafters/workbench.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/pairing.h"
#include "tests/conformance/toys.h"
#include "tests/core/checkpoint/files.h"
#include "tests/drafters/asking.h"
#include "tests/drafters/text/plans.h"
#include "tests/support/decoding.h"
#include "tests/support/made/made_index.h"
#include "tests/support/made/toy_tokenizer.h"
#include "tests/support/shared_models.h"
#include "tests/support/solo.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kVocab = 12;

// The plan as "3:2 3,1:1": paths and scores, in the order in which they were
// added.
std::string Planned(const Solo& drafter) {
  const DraftPlan& plan = PlanOf(drafter);
  const std::vector<std::vector<TokenId>> paths = PathsOf(plan);
  std::vector<std::string> nodes;
  for (int i = 1; i < plan.size(); ++i)
    nodes.push_back(
        absl::StrCat(absl::StrJoin(paths[static_cast<std::size_t>(i)], ","),
                     ":", plan.node(i).score));
  return absl::StrJoin(nodes, " ");
}

class Corpus {
 public:
  explicit Corpus(const std::vector<MadeDocument>& documents,
                  std::int64_t shard_tokens = 0)
      : index_(MustBuildIndex(
            folder_.path(), documents,
            {.vocab_size = kVocab, .shard_tokens = shard_tokens})) {}

  const TestFolder& folder() const { return folder_; }
  const CorpusIndex& index() const { return *index_; }
  Solo Asked(const RestOptions& options = {},
             const SamplingOptions& sampling = {}) const {
    return Solo(std::make_unique<Rest>(index_, kVocab, options,
                                       SamplingRule(sampling)));
  }
  std::string PlanAfter(std::vector<TokenId> text,
                        const RestOptions& options = {}) const {
    Solo drafter = Asked(options);
    BeginWith(drafter, std::move(text));
    return Planned(drafter);
  }

 private:
  const TestFolder folder_;
  std::shared_ptr<const CorpusIndex> index_;
};

TEST(Rest, DraftsWhatCameAfterTheLongestMatch) {
  const Corpus corpus({{5, 1, 2, 3}, {6, 1, 2, 4}, {6, 1, 2, 4}, {2, 8}});
  EXPECT_EQ(corpus.PlanAfter({0, 5, 1, 2}), "3:1");
  EXPECT_EQ(corpus.PlanAfter({0, 6, 1, 2}), "4:2");
  EXPECT_EQ(corpus.PlanAfter({0, 1, 2}), "4:2 3:1");
  EXPECT_EQ(corpus.PlanAfter({1, 2}), "4:2 3:1");
  // Not even two tokens; and one that may do.
  EXPECT_EQ(corpus.PlanAfter({0, 2}), "");
  EXPECT_EQ(corpus.PlanAfter({2}), "");
  EXPECT_EQ(corpus.PlanAfter({2}, {.min_match = 1}), "4:2 3:1 8:1");
  EXPECT_EQ(corpus.PlanAfter({5, 1, 2}, {.max_match = 2}), "4:2 3:1");
  EXPECT_EQ(corpus.PlanAfter({0, 11}, {.min_match = 1}), "");
  // Where documents end nothing comes after a longer match, nor after two.
  EXPECT_EQ(corpus.PlanAfter({5, 1, 2, 3}), "");
  EXPECT_EQ(Corpus({{7, 1, 2}, {1, 2, 3}}).PlanAfter({7, 1, 2}), "3:1");
}

TEST(Rest, KeepsTheNodesOfTheLargestCounts) {
  const Corpus corpus({{0, 1, 2, 3, 4},
                       {0, 1, 2, 3, 5},
                       {0, 1, 6, 7},
                       {0, 1, 6, 8, 9},
                       {0, 1, 2, 4}});
  const std::string all =
      "2:3 6:2 2,3:2 2,4:1 6,7:1 6,8:1 2,3,4:1 2,3,5:1 6,8,9:1";
  EXPECT_EQ(corpus.PlanAfter({0, 1}), all);
  for (int nodes = 1; nodes < 9; ++nodes) {
    std::vector<std::string> kept;
    for (const auto& node : std::vector<std::string>(absl::StrSplit(all, ' ')))
      if (static_cast<int>(kept.size()) < nodes) kept.push_back(node);
    EXPECT_EQ(corpus.PlanAfter({0, 1}, {.nodes = nodes}),
              absl::StrJoin(kept, " "));
  }
  EXPECT_EQ(corpus.PlanAfter({0, 1}, {.depth = 1}), "2:3 6:2");
  EXPECT_EQ(corpus.PlanAfter({0, 1}, {.depth = 2}),
            "2:3 6:2 2,3:2 2,4:1 6,7:1 6,8:1");
}

// The same by a map of all paths, of all places.
std::string PlainPlan(const std::vector<MadeDocument>& documents,
                      const std::vector<TokenId>& text,
                      const RestOptions& options) {
  for (int length =
           std::min<int>(options.max_match, static_cast<int>(text.size()));
       length >= options.min_match; --length) {
    const std::vector<TokenId> suffix(text.end() - length, text.end());
    bool found = false;
    std::map<std::vector<TokenId>, int> counts;
    for (const MadeDocument& document : documents)
      for (std::size_t at = 0; at + suffix.size() <= document.size(); ++at) {
        const auto begin = document.begin() + static_cast<std::ptrdiff_t>(at);
        if (!std::equal(suffix.begin(), suffix.end(), begin)) continue;
        found = found || begin + length != document.end();
        std::vector<TokenId> path;
        for (auto token = begin + length;
             token != document.end() &&
             static_cast<int>(path.size()) < options.depth;
             ++token) {
          path.push_back(*token);
          ++counts[path];
        }
      }
    if (!found) continue;
    std::vector<std::string> nodes;
    std::map<std::vector<TokenId>, std::size_t> kept = {{{}, 0}};
    while (static_cast<int>(nodes.size()) < options.nodes) {
      // Of those whose parents are kept: count, depth, parent's place, token.
      std::tuple<int, int, std::size_t, TokenId> best;
      std::vector<TokenId> best_path;
      for (const auto& [path, count] : counts) {
        const std::vector<TokenId> above(path.begin(), path.end() - 1);
        if (kept.count(path) > 0 || kept.count(above) == 0) continue;
        const std::tuple<int, int, std::size_t, TokenId> rank = {
            -count, static_cast<int>(path.size()), kept[above], path.back()};
        if (!best_path.empty() && best < rank) continue;
        best = rank;
        best_path = path;
      }
      if (best_path.empty()) break;
      kept[best_path] = kept.size();
      nodes.push_back(
          absl::StrCat(absl::StrJoin(best_path, ","), ":", counts[best_path]));
    }
    return absl::StrJoin(nodes, " ");
  }
  return "";
}

TEST(Rest, DraftsWhatAPlainCountDoes) {
  const std::vector<MadeDocument> documents =
      RandomDocuments({0, 1, 2, 11}, 80, 30);
  std::set<std::string> plans;
  for (const std::int64_t shard_tokens : {0, 300, 31}) {
    const Corpus corpus(documents, shard_tokens);
    for (const RestOptions& options :
         {RestOptions{}, RestOptions{.min_match = 1, .nodes = 7, .depth = 3},
          RestOptions{.max_match = 3, .nodes = 200, .depth = 2}})
      for (const MadeDocument& text : RandomDocuments({0, 1, 2, 11}, 60, 8)) {
        if (text.empty()) continue;
        SCOPED_TRACE(testing::PrintToString(text));
        const std::string plan = corpus.PlanAfter(text, options);
        EXPECT_EQ(plan, PlainPlan(documents, text, options));
        plans.insert(plan);
      }
  }
  EXPECT_GT(plans.size(), 100U);
}

TEST(Rest, LooksAtNoMorePlacesThanItMay) {
  std::vector<MadeDocument> documents(300, {0, 1, 2});
  for (int i = 0; i < 100; ++i) documents.push_back({0, 1, 3});
  documents.push_back({0, 1, 4});
  const Corpus corpus(documents);
  EXPECT_EQ(corpus.PlanAfter({0, 1}), "2:300 3:100 4:1");
  EXPECT_EQ(corpus.PlanAfter({0, 1}, {.samples = 4}),
            absl::StrCat("2:", 3 * 401 / 4., " 3:", 401 / 4.));
}

TEST(Rest, FollowsTheTextAndForgetsTheLastOne) {
  const Corpus corpus({{1, 2, 3, 4, 5}, {2, 4, 6}});
  Solo drafter = corpus.Asked();
  Context context = BeginWith(drafter, {0, 1, 2});
  EXPECT_EQ(Planned(drafter), "3:1 3,4:1 3,4,5:1");
  Commit(drafter, {4}, context);
  EXPECT_EQ(Planned(drafter), "6:1");
  Commit(drafter, {7, 7}, context);
  EXPECT_EQ(Planned(drafter), "");
  BeginWith(drafter, {3, 4});
  EXPECT_EQ(Planned(drafter), "5:1");
  EXPECT_EQ(drafter.drafter().carried(), nullptr);
}

double MassOf(const Distribution& law, TokenId token) {
  double found = 0;
  law.ForEach([&](TokenId each, double mass) {
    if (each == token) found = mass;
  });
  return found;
}

TEST(Rest, MakesLawsOfCounts) {
  const Corpus corpus({{0, 1, 2}, {0, 1, 2}, {0, 1, 3}});
  for (const auto& [temperature, expected] :
       {std::pair(1., 2 / 3.), std::pair(0.5, 4 / 5.), std::pair(0., 1.)}) {
    Solo drafter = corpus.Asked({}, {.temperature = temperature});
    const Context context = BeginWith(drafter, {0, 1});
    Distribution law = AtRoot(drafter, context);
    EXPECT_NEAR(MassOf(law, 2) / (MassOf(law, 2) + MassOf(law, 3)), expected,
                1e-12);
    EXPECT_THAT(Ranked(AtRoot(drafter, context, DrawKind::kDeterministic)),
                ElementsAre(2, 3));
  }
}

TEST(Rest, FailsWhereTheFilesWereDamaged) {
  const TestFolder folder;
  MustBuildIndex(folder.path(), {{0, 1, 2}}, {.vocab_size = kVocab});
  std::string bytes = folder.Read("000.suffixes");
  bytes[7] = 1;
  folder.Write("000.suffixes", bytes);
  auto index = CorpusIndex::Open(folder.path());
  ASSERT_TRUE(index.ok()) << index.status();
  Solo drafter(std::make_unique<Rest>(*std::move(index), kVocab, RestOptions(),
                                      SamplingRule()));
  absl::Status status = drafter.Begin(ContextOf({0, 1}));
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(folder.path() + "/000.suffixes: the file was changed"));
}

// Built from a section, with an index of the name `texts`.
class RestKeys : public testing::Test {
 protected:
  RestKeys() {
    MustBuildIndex(folder_.path() + "/index", {{0, 1, 2}},
                   {.tokenizer = NameOfTokens(*ToyTokenizer({"a", "b", "c"})),
                    .vocab_size = 3});
  }
  // For a target whose tokenizer has these tokens; none: it has no tokenizer.
  std::string Built(const std::string& keys, int vocab_size = 3,
                    const std::vector<std::string>& tokens = {}) const {
    Workbench bench(Toy({.vocab_size = vocab_size}), SamplingRule(),
                    std::make_shared<Assets>());
    if (!tokens.empty()) bench.SetTokenizer(ToyTokenizer(tokens));
    bench.AddFolder("texts", "index",
                    Params::Scalar(folder_.path() + "/index"));
    bench.AddFolder("none", "index", Params::Scalar(folder_.path()));
    bench.AddFolder("empty", "index", Params::Scalar(""));
    const auto section =
        ParseYaml(Section(absl::StrCat("rest ", keys)), "drafter.yaml");
    EXPECT_TRUE(section.ok()) << section.status();
    return std::string(BuildDrafter(*section, bench).status().message());
  }

  const TestFolder folder_;
};

TEST_F(RestKeys, AreReadAndChecked) {
  EXPECT_EQ(Built("{index: texts}"), "");
  EXPECT_EQ(Built("{index: texts, max_match: 3, min_match: 3, nodes: 1, "
                  "depth: 1, samples: 1, sampling: {temperature: 0}}"),
            "");
  EXPECT_THAT(Built("{}"), HasSubstr("missing key 'index'"));
  EXPECT_THAT(Built("{index: text}"), HasSubstr("unknown index 'text'"));
  for (const auto& [keys, reason] :
       std::vector<std::pair<std::string, std::string>>{
           {"max_match: 65", "'max_match' must lie between 1 and 64"},
           {"max_match: 0", "'max_match' must lie between 1 and 64"},
           {"min_match: 17", "between 1 and max_match, which is 16"},
           {"min_match: 0", "between 1 and max_match, which is 16"},
           {"nodes: 0", "'nodes' must lie between 1 and 1024"},
           {"nodes: 1025", "'nodes' must lie between 1 and 1024"},
           {"depth: 65", "'depth' must lie between 1 and 64"},
           {"samples: 0", "'samples' must lie between 1 and 8192"},
           {"sample: 5", "unknown key 'sample'"}})
    EXPECT_THAT(Built(absl::StrCat("{index: texts, ", keys, "}")),
                AllOf(HasSubstr("drafter.yaml:1:"), HasSubstr(reason)));
}

TEST_F(RestKeys, AskForAnIndexOfTheTargetsTokens) {
  EXPECT_EQ(Built("{index: texts}", 4, {"a", "b", "c"}), "");
  EXPECT_THAT(Built("{index: texts}", 2),
              HasSubstr(folder_.path() + "/index/index.json: vocab_size: "));
  EXPECT_THAT(Built("{index: texts}", 3, {"a", "c", "b"}),
              AllOf(HasSubstr("/index/index.json: tokenizer: expected the "
                              "target's "),
                    HasSubstr(": the index is of another tokenizer")));
  EXPECT_THAT(Built("{index: none}"),
              AllOf(HasSubstr("/index.json: No such file"),
                    HasSubstr("; `banyan make index --model ")));
  EXPECT_THAT(Built("{index: empty}"), HasSubstr("expected a path"));
}

}  // namespace
}  // namespace banyan
