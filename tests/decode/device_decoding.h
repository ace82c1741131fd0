// What tests of rounds on a device decode with.
#ifndef BANYAN_TESTS_DECODE_DEVICE_DECODING_H_
#define BANYAN_TESTS_DECODE_DEVICE_DECODING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/token.h"
#include "core/ops/backend.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "core/transformer/transformer.h"
#include "decode/decoder.h"
#include "decode/sequence.h"
#include "drafters/heads/medusa/heads.h"
#include "tests/core/checkpoint/files.h"
#include "tests/core/transformer/walk.h"
#include "tests/decode/same_rounds.h"
#include "tree/draft_tree.h"

namespace banyan {

// A seeded source that does not tell its seed: whoever uses it asks the host.
class Seedless : public RandomSource {
 public:
  explicit Seedless(std::uint64_t seed) : source_(seed) {}
  bool Accept(double probability, const ChoiceKey& key) override {
    return source_.Accept(probability, key);
  }
  int Draw(const Weights& weights, const ChoiceKey& key) override {
    return source_.Draw(weights, key);
  }

 private:
  SeededSource source_;
};

// A target, a drafter of its kind and heads, on one device.
struct Models {
  explicit Models(const std::string& family,
                  std::shared_ptr<Backend> on = HostDeviceBackend());

  // The target of the EAGLE heads takes the other one's place, with drafters of
  // its own.
  void TakeEagleTarget();
  void MakeMedusa(TestFolder& in);
  // The target's rows of this token, and those that see it, have no numbers.
  void Spoil(TokenId token);

  TestFolder folder, eagle_folder;
  std::shared_ptr<Backend> backend;
  std::shared_ptr<Transformer> target;
  std::shared_ptr<Transformer> draft;
  std::shared_ptr<const MedusaHeads> heads;
};

inline constexpr char kTrimmed[] = ", trimmed";

// A drafter beside the first: as DecodedSetting has it, or one of the catalogue
// with its keys, "copy {}".
struct DecodedTrunk {
  std::string drafter;
  std::string policy;
  DrawKind draw_kind;
};

struct DecodedSetting {
  // None, small_model, medusa, or an EAGLE head of tests/goldens/eagle.py; with
  // kTrimmed after it with logits for every second token alone.
  std::string drafter;
  std::string policy;
  std::string verifier;
  DrawKind draw_kind;
  SamplingOptions sampling;
  std::vector<DecodedTrunk> beside = {};

  std::string name() const;
};

absl::StatusOr<Decoder> DecoderOf(const Models& models,
                                  const DecodedSetting& setting);

// All rounds of a prompt, until `stop` or that many tokens.
Rounds RoundsOf(Decoder& decoder, const Prompt& prompt, const StopRule& stop,
                RandomSource& random);
Rounds RoundsOf(Decoder& decoder, const Prompt& prompt, int tokens,
                RandomSource& random);

// The rounds of case `number`, which makes prompt and seed, on the device. They
// are expected to be the host's, for every third case their whole proposals
// too.
Rounds OwnRoundsOf(Decoder& decoder, std::size_t number, int tokens);

}  // namespace banyan

#endif  // BANYAN_TESTS_DECODE_DEVICE_DECODING_H_
