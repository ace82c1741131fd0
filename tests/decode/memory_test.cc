// Out of memory in the middle of a round: a clear error, nothing lost, and with
// room the same round runs. Every allocation of every round is refused once.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/ops/weight.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "core/transformer/transformer.h"
#include "decode/decoder.h"
#include "decode/host_cause.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "drafters/heads/eagle/eagle.h"
#include "drafters/heads/eagle/head.h"
#include "drafters/heads/medusa/heads.h"
#include "drafters/heads/medusa/medusa.h"
#include "drafters/small_models/small_model/small_model.h"
#include "tests/core/checkpoint/files.h"
#include "tests/core/transformer/made_model.h"
#include "tests/decode/same_rounds.h"
#include "tests/drafters/heads/made_heads.h"
#include "tests/support/decoding.h"
#include "tests/support/host_part.h"
#include "tests/support/made/golden_model.h"
#include "tests/support/tight_device.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

// What a sequence holds that a round changes.
struct Held {
  std::vector<TokenId> tokens;
  std::vector<float> features;
  std::uint32_t round;
  int length;
  StopReason stopped;
  friend bool operator==(const Held&, const Held&) = default;
};

Held HeldBy(const Sequence& sequence) {
  return {sequence.context.tokens, sequence.context.features.values,
          sequence.context.round, sequence.session->length(), sequence.stopped};
}

// A target that drafts for itself, in 8 bits and by heads; or the one that
// EAGLE heads are for.
class Models {
 public:
  explicit Models(std::shared_ptr<Backend> backend,
                  const std::string& drafter = "")
      : target_(drafter == "eagle"
                    ? LoadModel("tests/goldens/eagle/target", backend,
                                WeightFormat::kBf16)
                    : LoadGolden("llama", backend, WeightFormat::kBf16)),
        copy_(LoadGolden("llama", std::move(backend), WeightFormat::kQ8)) {
    if (drafter == "eagle") {
      auto head =
          LoadEagleHead("tests/goldens/eagle/eagle31_fc_norm", *target_);
      Check(head.ok(), head.status().message());
      eagle_ = *std::move(head);
    }
    WriteHeads(MakeHeads(*target_).tensors, folder_);
    auto heads = LoadMedusaHeads(folder_.path(), *target_);
    Check(heads.ok(), heads.status().message());
    heads_ = *std::move(heads);
  }

  Decoder NewDecoder(const std::string& drafter) const {
    const SamplingRule rule;
    std::vector<Trunk> trunks;
    if (drafter == "eagle")
      trunks.push_back(TrunkOf(std::make_unique<Eagle>(eagle_, rule),
                               "expansion {branching: [3, 2]}"));
    if (drafter == "small_model" || drafter == "both")
      trunks.push_back(TrunkOf(std::make_unique<SmallModel>(copy_, rule),
                               "expansion {branching: [3, 2]}"));
    if (drafter == "medusa" || drafter == "both")
      trunks.push_back(
          TrunkOf(std::make_unique<Medusa>(heads_, rule), "chain {nodes: 2}"));
    auto decoder = WithTrunks(*target_, "multi_round", std::move(trunks));
    Check(decoder.ok(), decoder.status().message());
    return *std::move(decoder);
  }

  const Transformer& target() const { return *target_; }

 private:
  TestFolder folder_;
  std::unique_ptr<Transformer> target_;
  std::shared_ptr<Transformer> copy_;
  std::shared_ptr<const MedusaHeads> heads_;
  std::shared_ptr<const EagleHead> eagle_;
};

std::vector<Sequence> BeginAll(Decoder& decoder, std::size_t count) {
  const std::vector<Prompt> prompts = {
      {1, {1, 9, 4, 30, 31}}, {2, {1, 5, 6}}, {3, {2, 8, 3, 7}}};
  std::vector<Sequence> sequences;
  for (std::size_t i = 0; i < count; ++i) {
    auto sequence = decoder.Begin(
        prompts[i], {.max_new_tokens = 24 - 5 * static_cast<int>(i)});
    Check(sequence.ok(), sequence.status().message());
    sequences.push_back(*std::move(sequence));
  }
  return sequences;
}

// Those that have not stopped.
std::vector<Sequence*> Going(std::vector<Sequence>& sequences) {
  std::vector<Sequence*> going;
  for (Sequence& sequence : sequences)
    if (sequence.stopped == StopReason::kNone) going.push_back(&sequence);
  return going;
}

void Note(const std::vector<absl::StatusOr<RoundRecord>>& records,
          std::string& trace) {
  for (const absl::StatusOr<RoundRecord>& record : records)
    absl::StrAppend(&trace, ToText(record->tree), " -> ",
                    absl::StrJoin(record->emitted, " "), "\n");
}

// What drafts, for how many sequences together, and where.
class OutOfMemory : public testing::TestWithParam<
                        std::tuple<std::string, std::size_t, RoundsOn>> {};

TEST_P(OutOfMemory, InARoundLosesNothingWhereverItComes) {
  const auto& [drafter, count, where] = GetParam();
  TightDevice device;
  const Models models(device.backend(), drafter);
  std::string undisturbed;
  {
    const Models others(TightDevice().backend(), drafter);
    Decoder decoder = others.NewDecoder(drafter);
    decoder.method().rounds = where;
    std::vector<Sequence> sequences = BeginAll(decoder, count);
    SeededSource random(4);
    for (auto going = Going(sequences); !going.empty();
         going = Going(sequences)) {
      const auto records = decoder.StepAll(going, random);
      ASSERT_TRUE(records.ok()) << records.status();
      Note(*records, undisturbed);
    }
  }
  Decoder decoder = models.NewDecoder(drafter);
  decoder.method().rounds = where;
  std::vector<Sequence> sequences = BeginAll(decoder, count);
  SeededSource random(4);
  std::string trace;
  int refused = 0;
  int late = 0;
  int rounds = 0;
  bool on_device = false;  // the first sequence's last round
  for (auto going = Going(sequences); !going.empty();
       going = Going(sequences), ++rounds) {
    std::vector<Held> before;
    for (const Sequence& sequence : sequences)
      before.push_back(HeldBy(sequence));
    std::size_t limit = device.used();
    device.Limit(limit);
    auto records = decoder.StepAll(going, random);
    for (; !records.ok() && refused < 1000;
         records = decoder.StepAll(going, random)) {
      ++refused;
      late += rounds > 0 ? 1 : 0;
      for (std::size_t i = 0; i < sequences.size(); ++i)
        ASSERT_EQ(HeldBy(sequences[i]), before[i]) << "sequence " << i;
      // Room for what was refused, and for nothing after it.
      limit += TightDevice::Missing(records.status());
      device.Limit(limit);
    }
    ASSERT_TRUE(records.ok()) << records.status();
    Note(*records, trace);
    if (going.front() == &sequences.front())
      on_device = RanOnDevice(*records->front());
  }
  EXPECT_EQ(trace, undisturbed);
  std::cout << "  " << refused << " allocations refused, " << late
            << " of them after the first of " << rounds << " rounds\n";
  EXPECT_GT(refused, 5);
  // One sequence's first round may ask for all that it ever needs, and a model
  // that the host asks too.
  EXPECT_TRUE(late > 0 || count == 1 ||
              (drafter == "small_model" && where == RoundsOn::kHost));
  // Nor does it lose the device's rounds.
  EXPECT_EQ(on_device, where == RoundsOn::kDevice);
}

INSTANTIATE_TEST_SUITE_P(
    Drafters, OutOfMemory,
    testing::Combine(testing::Values("small_model", "medusa", "both", "eagle"),
                     testing::Values(std::size_t{1}, std::size_t{3}),
                     testing::Values(RoundsOn::kHost, RoundsOn::kDevice)),
    [](const auto& row) {
      return absl::StrCat(std::get<0>(row.param), "_", std::get<1>(row.param),
                          "_", Name(std::get<2>(row.param)));
    });

// Another sequence that ends makes the room.
TEST(OutOfMemoryOf, TwoSequencesOneGoesOnWhenTheOtherIsGone) {
  TightDevice device;
  const Models models(device.backend());
  const SamplingRule rule;
  const Prompt prompt = {1, {1, 5}};
  const StopRule stop = {.max_new_tokens = 14};
  const Decoded undisturbed = [&] {
    const Models others(TightDevice().backend());
    Decoder decoder = others.NewDecoder("small_model");
    return MustDecode(decoder, prompt, stop);
  }();
  Decoder decoder = models.NewDecoder("small_model");
  auto one = decoder.Begin(prompt, stop);
  ASSERT_TRUE(one.ok()) << one.status();
  auto other = std::make_unique<absl::StatusOr<Sequence>>(
      decoder.Begin({2, {3, 4}}, stop));
  ASSERT_TRUE(other->ok()) << other->status();
  device.Limit(device.used());
  SeededSource random(0);
  EXPECT_GT(TightDevice::Missing(decoder.Step(*one, random).status()), 0U);
  EXPECT_EQ(decoder.Begin({3, {5, 6}}, stop).status().code(),
            absl::StatusCode::kResourceExhausted);
  other = nullptr;
  std::vector<TokenId> tokens;
  while (one->stopped == StopReason::kNone) {
    const auto round = decoder.Step(*one, random);
    ASSERT_TRUE(round.ok()) << round.status();
    tokens.insert(tokens.end(), round->emitted.begin(), round->emitted.end());
  }
  EXPECT_EQ(tokens, undisturbed.tokens);
}

// Rounds that the device runs alone, until the text outgrows the caches: what
// the heads read then stands on the device, and nowhere else.
TEST(OutOfMemoryOf, ADevicesRoundLosesNothingWhereCachesMustGrow) {
  if (LeftOutOnHost("made")) GTEST_SKIP() << kHostLeftOut;
  const MadeModel made({.heads = 2,
                        .kv_heads = 1,
                        .feed_forward = 40,
                        .vocab = 40,
                        .cyclic = true});
  // At refused allocation number `leave_at` the host runs the round together
  // with another sequence's.
  const auto decode = [&](bool tight, int& refused, int leave_at) {
    TightDevice device;
    const auto target = made.Load(device.backend(), WeightFormat::kBf16);
    const TestFolder folder;
    WriteHeads(MakeHeads(*target).tensors, folder);
    std::shared_ptr<const MedusaHeads> heads =
        *LoadMedusaHeads(folder.path(), *target);
    std::vector<Trunk> trunks;
    trunks.push_back(TrunkOf(std::make_unique<Medusa>(heads, SamplingRule()),
                             "expansion {branching: [6, 3]}"));
    auto decoder = WithTrunks(*target, "multi_round", std::move(trunks));
    Check(decoder.ok(), decoder.status().message());
    Prompt prompt = {.id = 1};
    for (int i = 0; i < 240; ++i) prompt.tokens.push_back(1 + i % 7);
    auto sequence = decoder->Begin(prompt, {.max_new_tokens = 20});
    Check(sequence.ok(), sequence.status().message());
    auto other = decoder->Begin({2, {3, 4}}, {.max_new_tokens = 20});
    Check(other.ok(), other.status().message());
    SeededSource random(1);
    std::string trace;
    bool on_device = false;
    while (sequence->stopped == StopReason::kNone) {
      std::size_t limit = device.used();
      if (tight) device.Limit(limit);
      auto record = decoder->Step(*sequence, random);
      while (!record.ok() && refused < 100) {
        limit += TightDevice::Missing(record.status());
        if (++refused == leave_at) {
          device.Limit(device.used() + (1 << 20));
          decoder->method().rounds = RoundsOn::kHost;
          auto both = decoder->StepAll({&*sequence, &*other}, random);
          decoder->method().rounds = RoundsOn::kAuto;
          Check(both.ok(), both.status().message());
          record = std::move(both->front());
          Check(record.ok(), record.status().message());
          EXPECT_FALSE(RanOnDevice(*record));
        } else {
          device.Limit(limit);
          record = decoder->Step(*sequence, random);
        }
      }
      Check(record.ok(), record.status().message());
      on_device = on_device || RanOnDevice(*record);
      Note({*std::move(record)}, trace);
    }
    EXPECT_TRUE(on_device);
    return trace;
  };
  int refused = 0;
  const std::string undisturbed = decode(false, refused, 0);
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(decode(true, refused, 0), undisturbed);
  EXPECT_GT(refused, 20);
  std::cout << "  " << refused << " allocations refused\n";
  for (int leave_at = 1; leave_at <= refused; leave_at += 4) {
    int again = 0;
    EXPECT_EQ(decode(true, again, leave_at), undisturbed) << leave_at;
    EXPECT_GE(again, leave_at);
  }
}

}  // namespace
}  // namespace banyan
