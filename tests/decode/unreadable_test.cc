// A device that fails: its error comes out of whatever asked, and a round that
// meets it commits nothing.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/device/buffer.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/ops/device_ops.h"
#include "core/ops/reference/reference_backend.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "core/transformer/transformer.h"
#include "decode/decoder.h"
#include "decode/sequence.h"
#include "decode/target_rows.h"
#include "tests/support/decoding.h"
#include "tests/support/made/golden_model.h"
#include "tests/support/shared_models.h"
#include "tests/support/tree_text.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

const absl::Status kLost = absl::DataLossError("the bus");

// Gives nothing to the caller while it is broken.
class Breakable : public ReferenceBackend {
 public:
  absl::Status Download(const Buffer& from, std::size_t offset,
                        absl::Span<std::byte> to) override {
    return broken ? kLost : ReferenceBackend::Download(from, offset, to);
  }
  absl::StatusOr<Distribution> Law(const LawArgs& args) override {
    if (broken) return kLost;
    return ReferenceBackend::Law(args);
  }
  absl::StatusOr<std::vector<TokenLogit>> Best(const BestArgs& args) override {
    if (broken) return kLost;
    return ReferenceBackend::Best(args);
  }
  absl::Status Finish() override { return broken ? kLost : absl::OkStatus(); }

  bool broken = false;
};

class Unreadable : public testing::Test {
 protected:
  std::shared_ptr<Breakable> backend_ = std::make_shared<Breakable>();
  std::unique_ptr<Transformer> target_ = LoadGolden("llama", backend_);
};

TEST_F(Unreadable, RowsSaySo) {
  const auto session = target_->NewSession();
  const TokenBatch batch = ChainAfter(*session, {1, 2});
  const ScoreRequest request = {session.get(), &batch, {0}};
  const auto scores = target_->Score({&request, 1});
  ASSERT_TRUE(scores.ok()) << scores.status();
  backend_->broken = true;
  const Scores& rows = *scores->front();
  std::vector<double> logits;
  EXPECT_EQ(rows.Read(0, logits), kLost);
  EXPECT_EQ(rows.Law(0, SamplingRule(), {}, {}).status(), kLost);
  EXPECT_EQ(rows.Best(1, 3).status(), kLost);
  std::vector<float> state(static_cast<std::size_t>(target_->hidden_size()));
  EXPECT_EQ(rows.ReadHidden(0, 1, absl::MakeSpan(state)), kLost);
  EXPECT_EQ(target_->Finish(), kLost);
}

// An unreadable row gives the verifier a valid distribution; the status then
// fails the round.
TEST_F(Unreadable, ARowsPlaceIsTakenByALaw) {
  const Context context = ContextOf({1});
  const DraftTree tree = ParseTree("1(2)");
  const auto session = target_->NewSession();
  const TokenBatch batch = ToBatch(tree, 0);
  const ScoreRequest request = {session.get(), &batch, {}};
  const auto scores = target_->Score({&request, 1});
  ASSERT_TRUE(scores.ok()) << scores.status();
  const SamplingRule rule;
  TargetRows rows(*scores->front(), rule, context, tree);
  EXPECT_NEAR(rows.Row(0).total(), 1, 1e-12);
  EXPECT_TRUE(rows.status().ok());
  backend_->broken = true;
  EXPECT_NEAR(rows.Row(1).total(), 1, 1e-12);
  EXPECT_EQ(rows.status(), kLost);
}

TEST_F(Unreadable, PlainDecodingFails) {
  backend_->broken = true;
  SeededSource random(1);
  EXPECT_EQ(DecodePlainly(*target_, SamplingRule(), {.tokens = {1, 2, 3}},
                          {.max_new_tokens = 4}, random)
                .status(),
            kLost);
}

// With facts gathered and without: each reads rows.
TEST_F(Unreadable, ARoundFailsAndMayBeTriedAgain) {
  for (bool facts : {false, true}) {
    auto decoder = WithTrunks(*target_, "multi_round", {});
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    if (facts) decoder->KeepFacts();
    auto sequence =
        decoder->Begin({.tokens = {1, 2, 3}}, {.max_new_tokens = 4});
    ASSERT_TRUE(sequence.ok()) << sequence.status();
    SeededSource random(1);
    backend_->broken = true;
    EXPECT_EQ(decoder->Step(*sequence, random).status(), kLost);
    EXPECT_EQ(sequence->session->length(), 2);
    EXPECT_EQ(sequence->context.tokens, std::vector<TokenId>({1, 2, 3}));
    backend_->broken = false;
    const auto round = decoder->Step(*sequence, random);
    ASSERT_TRUE(round.ok()) << round.status();
    EXPECT_EQ(sequence->session->length(), 3);
  }
}

}  // namespace
}  // namespace banyan
