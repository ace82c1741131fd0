// The caches of every preset on the shipped models: after each of fifty rounds,
// accepted whole, rejected whole or verified as usual, target and drafters give
// bit-identical results to fresh ones that read the whole text.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/random/random_source.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "drafters/drafter.h"
#include "experiments/loading/method_file.h"
#include "experiments/loading/model_shelf.h"
#include "experiments/plan/params_edit.h"
#include "tests/experiments/preset_files.h"
#include "tests/support/must_read.h"
#include "tests/support/shared_models.h"
#include "tests/support/tally.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

constexpr int kRounds = 50;
constexpr char kText[] =
    "class Node:\n    def __init__(self, left, right):\n        self.left =";

enum class Fate { kByLaw, kAccepted, kRefused };

std::string NameOf(Fate fate) {
  switch (fate) {
    case Fate::kByLaw:
      return "by_law";
    case Fate::kAccepted:
      return "accepted";
    case Fate::kRefused:
      return "refused";
  }
  return "";
}

// Accepts the whole way down to a deepest node, or nothing.
class Forced : public Verifier {
 public:
  Forced(std::unique_ptr<Verifier> right, Fate fate)
      : right_(std::move(right)), fate_(fate) {}

  VerifierTraits traits() const override { return right_->traits(); }
  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& /*chance*/) const override {
    Verdict verdict;
    int deepest = 0;
    if (fate_ == Fate::kAccepted)
      for (int node = 1; node < tree.size(); ++node)
        if (!tree.node(node).probe() &&
            tree.node(node).depth > tree.node(deepest).depth)
          deepest = node;
    verdict.next = target.Row(deepest).Argmax();
    for (int node = deepest; node != 0; node = tree.node(node).parent)
      verdict.path.insert(verdict.path.begin(), node);
    return verdict;
  }

 private:
  std::unique_ptr<Verifier> right_;
  Fate fate_;
};

// What comes after the text of a session whose next token is `root`.
struct Said {
  std::vector<double> logits;
  std::vector<float> state;
  friend bool operator==(const Said&, const Said&) = default;
};

Said After(const Model& target, Session& session, TokenId root) {
  const TokenBatch batch = TokenBatch::Chain({root}, session.length());
  const ScoreRequest request = {&session, &batch, {kAfterFinalNorm}};
  auto scores = target.Score({&request, 1});
  Check(scores.ok(), scores.status().message());
  Said said;
  said.logits = MustRead(*scores->front(), 0);
  said.state = MustReadHidden(*scores->front(), 0, 0, target.hidden_size());
  Check(session.Commit({}).ok(), "pending rows can be dropped");
  return said;
}

// The likeliest tokens, two at most.
std::vector<TokenId> BestTwo(const Distribution& law) {
  std::vector<std::pair<double, TokenId>> entries;
  law.ForEach([&](TokenId token, double mass) {
    if (mass > 0) entries.emplace_back(-mass, token);
  });
  std::sort(entries.begin(), entries.end());
  std::vector<TokenId> best;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, entries.size()); ++i)
    best.push_back(entries[i].second);
  return best;
}

// What a drafter proposes in a tree of two tokens a node, three levels deep.
Proposals ProposalsOf(const Sequence& sequence, int number,
                      DrawKind draw_kind) {
  Proposals all;
  const Context& context = sequence.context;
  const SequenceTrunk& trunk =
      sequence.trunks[static_cast<std::size_t>(number)];
  TrunkTree tree(context.root(), number, draw_kind);
  std::vector<int> level = {0};
  for (int depth = 0; depth < 3 && !level.empty(); ++depth) {
    const DraftRequest request = {trunk.session.get(), &context, &tree, level};
    const auto laws = trunk.drafter->Propose({&request, 1});
    Check(laws.ok(), laws.status().message());
    std::vector<int> next;
    for (std::size_t i = 0; i < level.size(); ++i) {
      const Proposal& said = laws->front()[i];
      tree.SetProposal(level[i], said);
      for (TokenId token : BestTwo(said.q))
        next.push_back(tree.AddDraw(level[i], token, said.q));
      all.push_back(said);
    }
    level = next;
  }
  return all;
}

// What came of earlier rounds is no cache: here a hybrid goes by the text
// alone, and copies where more than three tokens match; a part of the text is
// seen without the chunks that were chosen when the prompt began.
Params WithoutMemory(const std::string& preset) {
  Params file = Preset(preset);
  std::vector<std::pair<const char*, const char*>> changes;
  if (preset == "hybrid")
    changes = {{"drafters.0.start", "1e300"},
               {"drafters.0.drafters.1.depth", "3"}};
  if (preset == "hybrid_suffix") changes = {{"drafters.0.start", "1e300"}};
  if (preset == "triforce") changes = {{"drafters.0.upper.chunks", "0"}};
  for (const auto& [path, value] : changes) {
    auto changed = WithValue(file, path, Params::Scalar(value));
    Check(changed.ok(), changed.status().message());
    file = *std::move(changed);
  }
  return file;
}

// Whether a preset's drafts depend on where the prompt ends. A fresh prefill of
// the whole text does not know the prompt's end, so for these presets only the
// target's cache is compared.
bool KnowsItsPrompt(const std::string& preset) {
  return preset == "reference" || preset == "reference_rewrite" ||
         preset == "trie" || preset == "trie_warm";
}

class Bench {
 public:
  Bench(const std::string& preset, Fate fate)
      : knows_its_prompt_(KnowsItsPrompt(preset)),
        shelf_(OneThread()),
        method_(Open(preset)),
        fresh_(Open(preset)) {
    auto target = shelf_.Open({kShippedTarget, "auto"});
    Check(target.ok(), target.status().message());
    prompt_ = {.id = 1,
               .tokens = *target->tokenizer->Encode(TextFor(preset, kText))};
    if (fate == Fate::kByLaw) return;
    Method& method = method_.decoder->method();
    method.verifier =
        std::make_unique<Forced>(std::move(method.verifier), fate);
  }

  Sequence Begin() { return BeginOf(method_, prompt_); }

  RoundRecord Step(Sequence& sequence) {
    auto round = method_.decoder->Step(sequence, random_);
    Check(round.ok(), round.status().message());
    return *std::move(round);
  }

  // Gives how many proposals were compared.
  std::size_t CompareWithFresh(Sequence& sequence) {
    const Context& context = sequence.context;
    Sequence fresh =
        BeginOf(fresh_, {.id = prompt_.id, .tokens = context.tokens});
    EXPECT_EQ(sequence.session->length(), fresh.session->length());
    EXPECT_TRUE(
        After(*method_.target.model, *sequence.session, context.root()) ==
        After(*method_.target.model, *fresh.session, context.root()));
    std::size_t compared = 0;
    const auto& trunks = method_.decoder->method().trunks;
    for (std::size_t i = 0; i < trunks.size(); ++i) {
      const int number = static_cast<int>(i);
      if (trunks[i].drafter->traits().reads_scores || knows_its_prompt_) {
        ++compared;  // the target: what it told the drafter is not told again
        continue;
      }
      const auto own = ProposalsOf(sequence, number, trunks[i].draw_kind);
      const auto anew = ProposalsOf(fresh, number, trunks[i].draw_kind);
      EXPECT_EQ(own.size(), anew.size());
      for (std::size_t j = 0; j < std::min(own.size(), anew.size()); ++j)
        EXPECT_TRUE(Equal(own[j].q, anew[j].q))
            << "trunk " << i << ", law " << j;
      compared += own.size();
    }
    return compared;
  }

 private:
  LoadedMethod Open(const std::string& preset) {
    auto method = ReadMethodFile(
        WithoutMemory(preset),
        {.target = {kShippedTarget, "auto"},
         .shelf = shelf_,
         .sampling = {{"temperature", {}, Params::Scalar("1")}}});
    Check(method.ok(), method.status().message());
    return *std::move(method);
  }

  static Sequence BeginOf(LoadedMethod& method, const Prompt& prompt) {
    auto sequence = method.decoder->Begin(prompt, {.max_new_tokens = 1'000});
    Check(sequence.ok(), sequence.status().message());
    return *std::move(sequence);
  }

  bool knows_its_prompt_;
  ModelShelf shelf_;
  LoadedMethod method_;
  LoadedMethod fresh_;
  Prompt prompt_;
  SeededSource random_{1};
};

class EveryPresetsCaches
    : public testing::TestWithParam<std::tuple<std::string, Fate>> {};

TEST_P(EveryPresetsCaches, AreThoseOfAFreshPrefillAfterEveryRound) {
  const auto& [preset, fate] = GetParam();
  Bench bench(preset, fate);
  std::optional<Sequence> sequence = bench.Begin();
  std::size_t drafted = 0;
  std::size_t accepted = 0;
  std::size_t compared = 0;
  for (int i = 0; i < kRounds && !HasFailure(); ++i) {
    SCOPED_TRACE(absl::StrCat("round ", i));
    if (sequence->stopped != StopReason::kNone) sequence.emplace(bench.Begin());
    const RoundRecord round = bench.Step(*sequence);
    const std::size_t path = round.verdict.path.size();
    if (fate == Fate::kAccepted) {
      EXPECT_EQ(static_cast<int>(path), round.tree.Height());
    } else if (fate == Fate::kRefused) {
      EXPECT_EQ(path, 0U);
    }
    drafted += static_cast<std::size_t>(round.tree.Drafted());
    accepted += path;
    compared += bench.CompareWithFresh(*sequence);
  }
  std::cout << "  " << drafted << " nodes drafted, " << accepted
            << " accepted, " << compared << " proposals compared\n";
  EXPECT_GT(drafted, kRounds / (DraftsFromText(preset) ? 10U : 2U))
      << "nothing was tested";
  EXPECT_GE(compared, 1U * kRounds);
  // A sampled text (kByLaw) soon leaves what a table of text knows.
  EXPECT_TRUE(accepted > 0 || fate == Fate::kRefused ||
              (fate == Fate::kByLaw && DraftsFromText(preset)));
  Tally tally;
  tally.Count(CaseResult::kProven, static_cast<std::int64_t>(compared));
  ExpectCounts(tally, 50);
}

INSTANTIATE_TEST_SUITE_P(All, EveryPresetsCaches,
                         testing::Combine(testing::ValuesIn(DraftingPresets()),
                                          testing::Values(Fate::kByLaw,
                                                          Fate::kAccepted,
                                                          Fate::kRefused)),
                         [](const auto& row) {
                           return std::get<0>(row.param) + "_" +
                                  NameOf(std::get<1>(row.param));
                         });

}  // namespace
}  // namespace banyan
