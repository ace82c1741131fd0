// Extra rows scored for the drafter (probes) do not change the output
// distribution. If the target lets other rows see probes, the distribution is
// off, and the proofs notice. The mistake tested here is a mask by position,
// which is right for a chain: a row sees every earlier row of the pass. The
// tokens drafted below a probe's place then read the probe.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/model/table_model.h"
#include "core/prob/sampling_rule.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "drafters/drafter.h"
#include "drafters/small_models/small_model/small_model.h"
#include "drafters/target/lookahead/lookahead.h"
#include "experiments/proof/exact_law.h"
#include "tests/conformance/pairing.h"
#include "tests/conformance/toys.h"
#include "tests/support/decoding.h"
#include "tests/support/planter.h"
#include "tests/support/shared_models.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

class GivenScores : public Scores {
 public:
  explicit GivenScores(std::vector<std::vector<double>> rows)
      : rows_(std::move(rows)) {}
  int vocab_size() const override {
    return static_cast<int>(rows_.front().size());
  }
  absl::Status Read(int row, std::vector<double>& logits) const override {
    logits = rows_[static_cast<std::size_t>(row)];
    return absl::OkStatus();
  }

 private:
  std::vector<std::vector<double>> rows_;
};

class KeptText : public Session {
 public:
  int length() const override { return static_cast<int>(text.size()); }
  int pending() const override { return static_cast<int>(rows.size()); }
  absl::Status Prefill(absl::Span<const TokenId> tokens,
                       absl::Span<const int> /*taps*/,
                       FeatureSink /*sink*/) override {
    text.insert(text.end(), tokens.begin(), tokens.end());
    return absl::OkStatus();
  }
  absl::Status Commit(absl::Span<const int> path) override {
    for (int row : path) text.push_back(rows[static_cast<std::size_t>(row)]);
    rows.clear();
    return absl::OkStatus();
  }

  std::vector<TokenId> text;
  std::vector<TokenId> rows;
};

// A table whose rows see by position, not by ancestry.
class MaskedByPosition : public Model {
 public:
  explicit MaskedByPosition(std::shared_ptr<TableModel> table)
      : Model(table->shape()), table_(std::move(table)) {}
  std::unique_ptr<Session> NewSession() const override {
    return std::make_unique<KeptText>();
  }
  absl::StatusOr<std::vector<std::unique_ptr<Scores>>> Score(
      absl::Span<const ScoreRequest> requests) const override {
    std::vector<std::unique_ptr<Scores>> scores;
    for (const ScoreRequest& request : requests) {
      auto& session = *static_cast<KeptText*>(request.session);
      session.rows = request.batch->tokens;
      std::vector<std::vector<double>> rows;
      for (std::size_t row = 0; row < session.rows.size(); ++row)
        rows.push_back(
            LogitsAfter(*table_, Seen(session.text, *request.batch, row)));
      scores.push_back(std::make_unique<GivenScores>(std::move(rows)));
    }
    return scores;
  }

 private:
  static std::vector<TokenId> Seen(std::vector<TokenId> text,
                                   const TokenBatch& batch, std::size_t row) {
    const int last = batch.positions[row];
    for (int at = batch.positions.front(); at < last; ++at)
      for (std::size_t other = 0; other < batch.tokens.size(); ++other)
        if (batch.positions[other] == at) text.push_back(batch.tokens[other]);
    text.push_back(batch.tokens[row]);
    return text;
  }

  std::shared_ptr<TableModel> table_;
};

std::shared_ptr<TableModel> Table() { return Toy({.vocab_size = 2}); }

std::unique_ptr<Drafter> OwnModel() {
  return std::make_unique<SmallModel>(Toy({.vocab_size = 2, .seed = 1}),
                                      SamplingRule());
}

std::unique_ptr<Drafter> WithProbes(std::unique_ptr<Drafter> drafter) {
  return std::make_unique<Planter>(std::move(drafter), nullptr);
}

// Returns the largest error of the output distribution against the table's,
// when `target` scores the rows.
double Error(const Model& target, std::unique_ptr<Drafter> drafter,
             const std::string& verifier, DrawKind draw_kind) {
  std::vector<Trunk> trunks;
  trunks.push_back(TrunkOf(std::move(drafter), "chain {nodes: 2}", draw_kind));
  absl::StatusOr<Decoder> decoder =
      WithTrunks(target, verifier, std::move(trunks));
  EXPECT_TRUE(decoder.ok()) << decoder.status();
  const auto exact = ComputeExactLaw(
      *Table(), *decoder,
      {.horizon = 5, .rounds = 2, .prompt = {0, 1, 0, 0, 1, 0}});
  EXPECT_TRUE(exact.ok()) << exact.status();
  EXPECT_GT(exact->expected_accepted, 0);
  return exact->max_abs_error;
}

TEST(ProbeLaw, IsKeptBesideEveryKindOfDraw) {
  for (const DrawKind draw_kind : kDrawKinds)
    EXPECT_LE(Error(*Table(), WithProbes(OwnModel()), "multi_round", draw_kind),
              kRounding)
        << Name(draw_kind);
}

TEST(ProbeLaw, IsOffWhereOtherRowsSeeProbes) {
  const MaskedByPosition leaking(Table());
  for (const DrawKind draw_kind : kDrawKinds) {
    EXPECT_GT(Error(leaking, WithProbes(OwnModel()), "multi_round", draw_kind),
              kCaught)
        << Name(draw_kind);
    // Without probes a chain's rows see what they should.
    EXPECT_LE(Error(leaking, OwnModel(), "multi_round", draw_kind), kRounding)
        << Name(draw_kind);
  }
}

TEST(ProbeLaw, IsOffForTheWindowOfLookaheadWhereItsRowsAreSeen) {
  const auto drafter = [] {
    return std::make_unique<Lookahead>(
        2, LookaheadOptions{{.columns = 3, .level = 3}, 2, true});
  };
  const DrawKind draw_kind = DrawKind::kDeterministic;
  EXPECT_LE(Error(*Table(), drafter(), "multi_round", draw_kind), kRounding);
  EXPECT_GT(
      Error(MaskedByPosition(Table()), drafter(), "multi_round", draw_kind),
      kCaught);
}

// The output distribution would not show an accepted probe: a guessed token is
// judged by its probability, whoever guessed it. But the row of a probe need
// not be the row of its token.
TEST(ProbeLaw, NoVerifierTakesAProbeForADraw) {
  const auto target = Table();
  int accepted = 0;
  int probes = 0;
  for (const std::string& verifier : VerifierSpecs())
    for (const DrawKind draw_kind : kDrawKinds)
      for (const double temperature : {0., 1.}) {
        std::vector<Trunk> trunks;
        trunks.push_back(
            TrunkOf(WithProbes(OwnModel()), "chain {nodes: 1}", draw_kind));
        absl::StatusOr<Decoder> decoder = WithTrunks(
            *target, verifier, std::move(trunks), {.temperature = temperature});
        if (IsRefusal(decoder.status())) continue;
        ASSERT_TRUE(decoder.ok()) << decoder.status();
        for (const RoundRecord& round :
             MustDecode(*decoder, {.tokens = {0, 1}}, {.max_new_tokens = 40})
                 .rounds) {
          for (const int node : round.verdict.path)
            EXPECT_FALSE(round.tree.node(node).probe()) << verifier;
          accepted += static_cast<int>(round.verdict.path.size());
          probes += round.tree.size() - 1 - round.tree.Drafted();
        }
      }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(probes, 1000);
}

// The pool is filled in the second round and drafted from in the third.
TEST(ProbeLaw, OfLookaheadIsKeptOverFourRounds) {
  const auto target = Table();
  for (const char* verifier : {"match", "point_mass", "multi_round"}) {
    std::vector<Trunk> trunks;
    trunks.push_back(
        TrunkOf(std::make_unique<Lookahead>(
                    2, LookaheadOptions{{.columns = 2, .level = 3}, 2, false}),
                "best_first {most_draws: 3}", DrawKind::kDeterministic));
    absl::StatusOr<Decoder> decoder =
        WithTrunks(*target, verifier, std::move(trunks));
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    const auto exact = ComputeExactLaw(
        *target, *decoder,
        {.horizon = 8, .rounds = 4, .prompt = {0, 1, 0, 0, 1, 0}});
    ASSERT_TRUE(exact.ok()) << exact.status();
    EXPECT_LE(exact->max_abs_error, kRounding) << verifier;
    EXPECT_GT(exact->expected_accepted, 0.3) << verifier;
  }
}

}  // namespace
}  // namespace banyan
