#include "tests/decode/device_decoding.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/ops/weight.h"
#include "decode/method.h"
#include "drafters/drafter.h"
#include "drafters/heads/eagle/eagle.h"
#include "drafters/heads/eagle/head.h"
#include "drafters/heads/medusa/medusa.h"
#include "drafters/small_models/small_model/small_model.h"
#include "tests/drafters/asking.h"
#include "tests/drafters/heads/made_heads.h"
#include "tests/support/decoding.h"
#include "tests/support/made/edited_model.h"
#include "tests/support/made/golden_model.h"

namespace banyan {
namespace {

constexpr char kEagles[] = "tests/goldens/eagle/";

}  // namespace

Models::Models(const std::string& family, std::shared_ptr<Backend> on)
    : backend(std::move(on)),
      target(LoadGolden(family, backend, WeightFormat::kBf16)),
      draft(LoadGolden(family, backend, WeightFormat::kQ8)) {
  MakeMedusa(folder);
}

void Models::TakeEagleTarget() {
  const std::string directory = absl::StrCat(kEagles, "target");
  target = LoadModel(directory, backend, WeightFormat::kBf16);
  draft = LoadModel(directory, backend, WeightFormat::kQ8);
  MakeMedusa(eagle_folder);
}

void Models::Spoil(TokenId token) {
  EditedModel edited(GoldenFolder("llama"));
  MadeTensor& embedding =
      edited.files().at("model.safetensors").at("model.embed_tokens.weight");
  for (int i = 0; i < target->hidden_size(); ++i)
    SetNumber(embedding, token * target->hidden_size() + i, 0x1p100F);
  edited.Write("model.safetensors");
  target = LoadModel(edited.path(), backend, WeightFormat::kBf16);
}

void Models::MakeMedusa(TestFolder& in) {
  WriteHeads(MakeHeads(*target).tensors, in);
  auto loaded = LoadMedusaHeads(in.path(), *target);
  Check(loaded.ok(), loaded.status().message());
  heads = *std::move(loaded);
}

std::string DecodedSetting::name() const {
  std::string others;
  for (const DecodedTrunk& trunk : beside)
    absl::StrAppend(&others, trunk.drafter, ", ", trunk.policy, ", ",
                    Name(trunk.draw_kind), ", ");
  return absl::StrCat(others, drafter, ", ", policy, ", ", verifier, ", ",
                      Name(draw_kind), ", temperature ", sampling.temperature,
                      ", top_k ", sampling.top_k, ", top_p ", sampling.top_p);
}

namespace {

absl::StatusOr<std::unique_ptr<Drafter>> DrafterOf(const Models& models,
                                                   absl::string_view name,
                                                   const SamplingRule& rule) {
  std::vector<TokenId> some;  // tokens that it has logits for; none: all
  if (absl::ConsumeSuffix(&name, kTrimmed))
    for (TokenId token = 1;
         token < models.target->network().options().used_vocab; token += 2)
      some.push_back(token);
  if (absl::StrContains(name, "{"))
    return MustBuild(std::string(name),
                     {.vocab_size = models.target->vocab_size(),
                      .sampling = rule.options()});
  if (name == "medusa") {
    std::shared_ptr<const MedusaHeads> heads = models.heads;
    if (!some.empty()) {
      BANYAN_ASSIGN_OR_RETURN(
          heads, TrimHeads(heads, some, models.target->vocab_size()));
    }
    return std::make_unique<Medusa>(std::move(heads), rule);
  }
  if (name == "small_model") {
    std::shared_ptr<const Model> draft = models.draft;
    if (!some.empty()) {
      BANYAN_ASSIGN_OR_RETURN(draft, TrimOutputs(draft, some));
    }
    return std::make_unique<SmallModel>(std::move(draft), rule);
  }
  BANYAN_ASSIGN_OR_RETURN(
      std::shared_ptr<const EagleHead> head,
      LoadEagleHead(absl::StrCat(kEagles, name), *models.target));
  if (!some.empty()) {
    BANYAN_ASSIGN_OR_RETURN(head, TrimHead(head, some));
  }
  return std::make_unique<Eagle>(std::move(head), rule);
}

}  // namespace

absl::StatusOr<Decoder> DecoderOf(const Models& models,
                                  const DecodedSetting& setting) {
  std::vector<Trunk> trunks;
  const SamplingRule rule(setting.sampling);
  const auto add = [&](const DecodedTrunk& of) -> absl::Status {
    BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Drafter> drafter,
                            DrafterOf(models, of.drafter, rule));
    trunks.push_back(TrunkOf(std::move(drafter), of.policy, of.draw_kind));
    return absl::OkStatus();
  };
  if (!setting.drafter.empty())
    BANYAN_RETURN_IF_ERROR(
        add({setting.drafter, setting.policy, setting.draw_kind}));
  for (const DecodedTrunk& trunk : setting.beside)
    BANYAN_RETURN_IF_ERROR(add(trunk));
  return WithTrunks(*models.target, setting.verifier, std::move(trunks),
                    setting.sampling);
}

Rounds RoundsOf(Decoder& decoder, const Prompt& prompt, int tokens,
                RandomSource& random) {
  return RoundsOf(decoder, prompt,
                  {.end_of_text = {17}, .max_new_tokens = tokens}, random);
}

Rounds RoundsOf(Decoder& decoder, const Prompt& prompt, const StopRule& stop,
                RandomSource& random) {
  auto sequence = decoder.Begin(prompt, stop);
  Check(sequence.ok(), sequence.status().message());
  Rounds run;
  while (sequence->stopped == StopReason::kNone) {
    auto record = decoder.Step(*sequence, random);
    Check(record.ok(), record.status().message());
    if (RanOnDevice(*record)) ++run.on_device;
    run.tokens.insert(run.tokens.end(), record->emitted.begin(),
                      record->emitted.end());
    run.rounds.push_back(*std::move(record));
  }
  return run;
}

Rounds OwnRoundsOf(Decoder& decoder, std::size_t number, int tokens) {
  const bool whole = number % 3 == 0;
  if (whole) decoder.KeepFacts();
  const Prompt prompt = {
      .id = static_cast<std::uint32_t>(number),
      .tokens = {1, static_cast<TokenId>(10 + number % 50), 5}};
  SeededSource seeded(number);
  decoder.method().rounds = RoundsOn::kDevice;
  Rounds device = RoundsOf(decoder, prompt, tokens, seeded);
  decoder.method().rounds = RoundsOn::kHost;
  const Rounds host = RoundsOf(decoder, prompt, tokens, seeded);
  ExpectSameRounds(device, host, whole);
  EXPECT_EQ(host.on_device, 0);
  EXPECT_EQ(device.on_device, static_cast<int>(device.rounds.size()));
  return device;
}

}  // namespace banyan
