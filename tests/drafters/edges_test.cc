// Every drafter where everything is accepted, where nothing is, and where the
// text or the context ends at each depth of a round. tests/experiments has the
// same of whole methods with the models that ship, and looks at their caches.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/model/table_model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/round.h"
#include "decode/sequence.h"
#include "drafters/catalogue.h"
#include "drafters/drafter.h"
#include "drafters/heads/eagle/eagle.h"
#include "drafters/heads/medusa/heads.h"
#include "drafters/heads/medusa/medusa.h"
#include "drafters/row.h"
#include "drafters/small_models/common_tokens/common_tokens.h"
#include "drafters/small_models/retokenized/retokenized.h"
#include "drafters/small_models/small_model/small_model.h"
#include "drafters/target/early_exit/early_exit.h"
#include "drafters/target/triforce/triforce.h"
#include "drafters/target/view_drafter.h"
#include "drafters/text/corpus_index.h"
#include "drafters/text/rest/rest.h"
#include "drafters/text/token_counts.h"
#include "tests/conformance/toys.h"
#include "tests/core/checkpoint/files.h"
#include "tests/drafters/asking.h"
#include "tests/drafters/small_models/other_models.h"
#include "tests/support/decoding.h"
#include "tests/support/decorated.h"
#include "tests/support/made/made_index.h"
#include "tests/support/made/toy_head.h"
#include "tests/support/shared_models.h"
#include "tests/support/tally.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

constexpr int kVocab = 8;
constexpr TokenId kEnd = 7;
constexpr int kSaid = 18;  // of the prompt: three times 0 to 5
constexpr int kGamma = 4;

// Counts on from the last token, whatever came before it.
std::vector<double> CountOn(absl::Span<const TokenId> text) {
  std::vector<double> masses(kVocab, 0);
  masses[static_cast<std::size_t>((text.back() + 1) % 6)] = 1;
  return masses;
}

// Whatever a view runs and sees, it counts on.
TableLayers CountingViews() {
  return {2, [](absl::Span<const TokenId> text, const ViewOptions& /*view*/) {
            return CountOn(text);
          }};
}

// 0, 1, ... 5, 0, 1, ... for so long, with `end` at `at` of what comes after
// the prompt.
std::shared_ptr<TableModel> Counting(int length, int at = -1) {
  std::vector<TokenId> script;
  for (int i = 0; i < length; ++i)
    script.push_back(at >= 0 && i == kSaid + at ? kEnd
                                                : static_cast<TokenId>(i % 6));
  return WithStates(Script(kVocab, script)->WithLayers(CountingViews()));
}

Prompt Said() {
  Prompt prompt = {.tokens = {kVocab}};
  for (int i = 0; i < kSaid; ++i)
    prompt.tokens.push_back(static_cast<TokenId>(i % 6));
  return prompt;
}

// Says whatever another drafter says, but never the token that comes next.
class Wrong : public Decorated {
 public:
  using Decorated::Decorated;

  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override {
    auto all = Decorated::Propose(requests);
    if (!all.ok()) return all;
    for (std::size_t i = 0; i < requests.size(); ++i)
      for (std::size_t j = 0; j < requests[i].nodes.size(); ++j) {
        const int node = requests[i].nodes[j];
        const TokenId next = (requests[i].tree->node(node).token + 1) % 6;
        std::vector<double> masses(kVocab, 0);
        (*all)[i][j].q.ForEach([&](TokenId token, double mass) {
          masses[static_cast<std::size_t>(token == next ? kEnd : token)] +=
              mass;
        });
        (*all)[i][j].q = Distribution::Dense(masses);
      }
    return all;
  }
};

// The token after t is t + 1, rarely another one.
TokenCounts Counts() {
  TokenCounts counts;
  counts.offsets.push_back(0);
  for (TokenId token = 0; token < kVocab; ++token) {
    counts.unigram.push_back(20 - token);
    for (TokenId next = 0; next < kVocab; ++next) {
      counts.tokens.push_back(next);
      counts.counts.push_back(next == (token + 1) % 6 ? 9 : 1);
    }
    counts.offsets.push_back(static_cast<std::int64_t>(counts.tokens.size()));
  }
  return counts;
}

// Heads, one a depth, that count on from the token whose state they read.
class CountingHeads : public MedusaHeads {
 public:
  int count() const override { return kGamma; }
  absl::Status Score(absl::Span<const float> hidden,
                     std::vector<std::vector<double>>& logits) const override {
    logits.assign(kGamma, std::vector<double>(kVocab, -9));
    for (int head = 0; head < kGamma; ++head) {
      const int next = (static_cast<int>(hidden[0]) + 2 + head) % 6;
      logits[static_cast<std::size_t>(head)][static_cast<std::size_t>(next)] =
          0;
    }
    return absl::OkStatus();
  }
};

struct Case {
  std::string spec;
  // A tree in which whatever comes next is drafted, and its height.
  std::string covering = absl::StrCat("chain {nodes: ", kGamma, "}");
  int height = kGamma;
  std::size_t silent = 0;  // rounds before it has anything to say
  // Why no tree of it has whatever comes next; empty: some tree has.
  std::string partial = {};
};

std::vector<Case> StatedCases() {
  // Those that cannot know what comes next draft every token.
  const std::string everything =
      absl::StrCat("expansion {branching: [", kVocab, ", ", kVocab, "]}");
  return {{"small_model {model: draft}"},
          {"medusa {heads: heads}"},
          {"eagle {head: head}"},
          {"ngram {history: 0}"},
          {"ngram {history: 16}"},
          {"copy {min_match: 1}"},
          {"unigram {counts: counts.safetensors}", everything, 2},
          {"bigram {counts: counts.safetensors}"},
          {"random {}", everything, 2},
          {"early_exit {exits: [1]}"},
          {"skip {attention: [1]}"},
          {"triforce {first: 2, latest: 4, chunks: 1, chunk: 2}"},
          {"cascade {upper: {name: ngram, history: 0}, lower: {name: copy}}"},
          {"relay {spans: [{levels: 2, drafter: {name: ngram, history: 0}}, "
           "{drafter: {name: copy}}]}"},
          {"lookahead {window: 2, guesses: 64, pool_from_prompt: true}",
           everything, 2},
          {.spec = "pass {tokens: [6, 6, 6, 6]}", .silent = 1},
          {"hybrid {drafters: [{drafter: {name: ngram, history: 0}}, "
           "{drafter: {name: copy}}]}"},
          {"reference {match: 1}"},
          {"suffix {}"},
          {"sam {}"},
          {"or_else {first: {name: sam, threshold: 99}, "
           "second: {name: copy}}"},
          // Each of the six tokens was the root once.
          {.spec = "recycling {}", .silent = 6},
          {"trie {}"},
          {"common_tokens {model: other}"},
          {"retokenized {model: other}"},
          {"rest {index: index}"}};
}

std::string NameOf(const Case& drafter) {
  return drafter.spec.substr(0, drafter.spec.find(' '));
}

// A row of the catalogue without a case here is tried by its first example.
std::vector<Case> Cases() {
  std::vector<Case> cases = StatedCases();
  std::set<std::string> stated;
  for (const Case& drafter : cases) stated.insert(NameOf(drafter));
  for (const DrafterRow& row : DrafterCatalogue())
    if (!stated.contains(std::string(row.name)))
      cases.push_back(
          {.spec = absl::StrCat(row.name, " ", row.examples.front()),
           .partial = "no tree is stated here that covers what comes next"});
  return cases;
}

// Longer than the context is as long as it: the view takes no more work.
TEST(Triforce, SeesNoMoreThanTheContextHolds) {
  constexpr int kHuge = std::numeric_limits<int>::max();
  SeenText seen = Triforce::Within(
      64, {.first = kHuge, .latest = kHuge, .chunks = kHuge, .chunk = 5});
  EXPECT_EQ(seen.first, 64);
  EXPECT_EQ(seen.latest, 64);
  EXPECT_EQ(seen.chunks, 13);
  EXPECT_EQ(seen.chunk, 5);
  seen.chunk = kHuge;
  EXPECT_EQ(Triforce::Within(64, seen).chunk, 64);
  EXPECT_EQ(Triforce::Within(64, seen).chunks, 2);
  const SeenText small = {.first = 2, .latest = 4, .chunks = 1, .chunk = 2};
  EXPECT_EQ(Triforce::Within(64, small).latest, 4);
}

// A model that counts on, with the target's tokens in another order.
OtherPair CountingBackwards() {
  OtherPair pair({"0", "1", "2", "3", "4", "5", "6", "<end>"},
                 {"<end>", "6", "5", "4", "3", "2", "1", "0"}, 0);
  pair.model =
      std::make_shared<TableModel>(kVocab, [](absl::Span<const TokenId> text) {
        std::vector<TokenId> as_target;
        for (TokenId token : text) as_target.push_back(kEnd - token);
        std::vector<double> masses = CountOn(as_target);
        std::reverse(masses.begin(), masses.end());
        return masses;
      });
  return pair;
}

std::unique_ptr<Drafter> Make(const std::string& spec,
                              const std::shared_ptr<TableModel>& target) {
  const SamplingOptions greedy = {.temperature = 0};
  if (absl::StartsWith(spec, "small_model"))
    return std::make_unique<SmallModel>(target, SamplingRule(greedy));
  if (absl::StartsWith(spec, "medusa"))
    return std::make_unique<Medusa>(std::make_shared<CountingHeads>(),
                                    SamplingRule(greedy));
  if (absl::StartsWith(spec, "eagle"))
    return std::make_unique<Eagle>(
        std::make_shared<ToyHead>(WithStates(TableModel(kVocab, CountOn))),
        SamplingRule(greedy));
  if (absl::StartsWith(spec, "common_tokens"))
    return std::make_unique<CommonTokens>(kVocab, CountingBackwards().Open(),
                                          SamplingRule(greedy));
  if (absl::StartsWith(spec, "retokenized"))
    return std::make_unique<Retokenized>(kVocab, CountingBackwards().Open(),
                                         32);
  ViewOptions half;
  half.attention = {0};
  if (absl::StartsWith(spec, "early_exit"))
    return std::make_unique<EarlyExit>(target, std::vector<int>{1}, 1,
                                       SamplingRule(greedy));
  if (absl::StartsWith(spec, "skip"))
    return std::make_unique<ViewDrafter>(target, half, SamplingRule(greedy));
  if (absl::StartsWith(spec, "triforce"))
    return std::make_unique<Triforce>(
        target, SeenText{.first = 2, .latest = 4, .chunks = 1, .chunk = 2}, 3,
        SamplingRule(greedy));
  const TestFolder folder;
  if (absl::StartsWith(spec, "rest")) {
    static const auto& index = *new std::shared_ptr<const CorpusIndex>([&] {
      MadeDocument counted;
      for (int i = 0; i < 60; ++i) counted.push_back(i % 6);
      return MustBuildIndex(folder.path(), {counted}, {.vocab_size = kVocab});
    }());
    return std::make_unique<Rest>(index, kVocab, RestOptions{},
                                  SamplingRule(greedy));
  }
  const absl::Status written =
      WriteTokenCounts(folder.path() + "/counts.safetensors", Counts());
  Check(written.ok(), written.message());
  return MustBuild(
      spec, {.sampling = greedy, .file = folder.path() + "/drafter.yaml"});
}

Decoded Decode(const std::shared_ptr<TableModel>& target,
               std::unique_ptr<Drafter> drafter, const std::string& policy,
               const StopRule& stop) {
  std::vector<Trunk> trunks;
  trunks.push_back(
      TrunkOf(std::move(drafter), policy, DrawKind::kDeterministic));
  auto decoder =
      WithTrunks(*target, "multi_round", std::move(trunks), {.temperature = 0});
  EXPECT_TRUE(decoder.ok()) << decoder.status();
  return MustDecode(*decoder, Said(), stop);
}

TEST(Edges, AreOfDraftersOfTheCatalogue) {
  std::set<std::string> known;
  for (const DrafterRow& row : DrafterCatalogue()) known.emplace(row.name);
  for (const Case& stated : StatedCases())
    EXPECT_TRUE(known.contains(NameOf(stated))) << stated.spec;
}

TEST(Edges, EverythingIsAcceptedForFiftyRounds) {
  const auto target = Counting(1000);
  Tally tally;
  for (const Case& drafter : Cases()) {
    if (!drafter.partial.empty()) {
      tally.LeaveOut(absl::StrCat(drafter.spec, ": ", drafter.partial));
      continue;
    }
    const Decoded decoded =
        Decode(target, Make(drafter.spec, target), drafter.covering,
               {.max_new_tokens = static_cast<int>(drafter.silent) +
                                  50 * (drafter.height + 1)});
    ASSERT_EQ(decoded.rounds.size(), 50U + drafter.silent) << drafter.spec;
    for (std::size_t i = 0; i < decoded.rounds.size(); ++i)
      EXPECT_EQ(decoded.rounds[i].verdict.path.size(),
                i < drafter.silent ? 0 : drafter.height)
          << drafter.spec;
    tally.Count(CaseResult::kProven);
  }
  ExpectCounts(tally, 26);
}

TEST(Edges, NothingIsAcceptedForFiftyRounds) {
  const auto target = Counting(1000);
  const StopRule stop = {.max_new_tokens = 50};
  Tally tally;
  for (const Case& drafter : Cases()) {
    const Decoded decoded =
        Decode(target, std::make_unique<Wrong>(Make(drafter.spec, target)),
               "expansion {branching: [1, 1]}", stop);
    ASSERT_EQ(decoded.rounds.size(), 50U) << drafter.spec;
    int drafted = 0;
    for (const RoundRecord& round : decoded.rounds) {
      EXPECT_TRUE(round.verdict.path.empty()) << drafter.spec;
      drafted += round.tree.Drafted();
    }
    EXPECT_GE(drafted, drafter.partial.empty() ? 50 : 1) << drafter.spec;
    EXPECT_EQ(decoded.tokens,
              MustDecodePlainly(*target, SamplingRule({.temperature = 0}),
                                Said(), stop));
    tally.Count(CaseResult::kProven);
  }
  ExpectCounts(tally, 26);
}

// What plain decoding emits, and why it stops.
void ExpectAsPlain(const std::shared_ptr<TableModel>& target,
                   const StopRule& stop, StopReason reason, Tally& tally) {
  const std::vector<TokenId> plain = MustDecodePlainly(
      *target, SamplingRule({.temperature = 0}), Said(), stop);
  for (const Case& drafter : Cases())
    for (const std::string& policy :
         {drafter.covering, std::string("expansion {branching: [2, 1, 2]}")}) {
      const Decoded decoded =
          Decode(target, Make(drafter.spec, target), policy, stop);
      EXPECT_EQ(decoded.tokens, plain) << drafter.spec << ", " << policy;
      EXPECT_EQ(decoded.stopped, reason) << drafter.spec << ", " << policy;
      tally.Count(CaseResult::kProven);
    }
}

TEST(Edges, TheTextEndsAtEveryDepthOfARound) {
  Tally tally;
  for (int at = 0; at < 11; ++at) {
    SCOPED_TRACE(absl::StrCat("end at ", at));
    ExpectAsPlain(Counting(kSaid + 20, at),
                  {.end_of_text = {kEnd}, .max_new_tokens = 50},
                  StopReason::kEndOfText, tally);
  }
  ExpectCounts(tally, 572);
}

TEST(Edges, TheContextEndsAtEveryDepthOfARound) {
  Tally tally;
  for (int room = 0; room < 11; ++room) {
    SCOPED_TRACE(absl::StrCat("room for ", room));
    ExpectAsPlain(WithStates(Limited(Counting(200), kSaid + 1 + room)
                                 ->WithLayers(CountingViews())),
                  {.max_new_tokens = 50}, StopReason::kContext, tally);
  }
  ExpectCounts(tally, 572);
}

TEST(Edges, TheLengthEndsAtEveryDepthOfARound) {
  Tally tally;
  for (int length = 1; length < 12; ++length)
    ExpectAsPlain(Counting(200), {.max_new_tokens = length},
                  StopReason::kLength, tally);
  ExpectCounts(tally, 572);
}

}  // namespace
}  // namespace banyan
