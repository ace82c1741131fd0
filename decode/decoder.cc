#include "decode/decoder.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/random/random_source.h"
#include "decode/method.h"
#include "decode/round.h"
#include "decode/sequence.h"
#include "drafters/drafter.h"

namespace banyan {

absl::StatusOr<Decoder> Decoder::Create(const Model& target, Method method,
                                        std::shared_ptr<const Clock> clock) {
  BANYAN_RETURN_IF_ERROR(CheckMethod(method));
  return Decoder(target, std::move(method), std::move(clock));
}

Decoder::Decoder(const Model& target, Method method,
                 std::shared_ptr<const Clock> clock)
    : target_(&target), method_(std::move(method)), clock_(std::move(clock)) {
  std::set<int> taps;
  for (const Trunk& trunk : method_.trunks)
    for (int tap : trunk.drafter->taps()) taps.insert(tap);
  taps_.assign(taps.begin(), taps.end());
}

absl::StatusOr<Sequence> Decoder::Begin(const Prompt& prompt,
                                        const StopRule& stop) {
  BANYAN_ASSIGN_OR_RETURN(Sequence sequence,
                          Sequence::Start(*target_, prompt, stop, taps_));
  sequence.keep_facts = keep_facts_;
  sequence.looked_for_device = stay_on_host_;  // and there is none
  for (const Trunk& trunk : method_.trunks) {
    sequence.trunks.push_back({trunk.drafter->Clone(), trunk.policy->Clone()});
    Drafter& drafter = *sequence.trunks.back().drafter;
    BANYAN_RETURN_IF_ERROR(drafter.TakeViews(*sequence.session));
    BANYAN_RETURN_IF_ERROR(drafter.Begin(sequence.context));
  }
  return sequence;
}

absl::StatusOr<std::vector<absl::StatusOr<RoundRecord>>> Decoder::StepAll(
    absl::Span<Sequence* const> sequences, RandomSource& random) {
  for (const Sequence* sequence : sequences)
    Check(sequence->stopped == StopReason::kNone, "a stopped sequence");
  return RunRound(method_, sequences, random, *clock_);
}

absl::StatusOr<RoundRecord> Decoder::Step(Sequence& sequence,
                                          RandomSource& random) {
  Sequence* const one = &sequence;
  BANYAN_ASSIGN_OR_RETURN(auto records, StepAll({&one, 1}, random));
  return std::move(records.front());
}

Lesson Decoder::End(Sequence& sequence) {
  Check(sequence.stopped != StopReason::kNone, "a sequence that has stopped");
  Lesson lesson = {.text = sequence.context.tokens, .learnt = {}};
  for (SequenceTrunk& trunk : sequence.trunks)
    lesson.learnt.push_back(trunk.drafter->End());
  return lesson;
}

absl::Status Decoder::Absorb(const Lesson& lesson) {
  if (lesson.learnt.size() != method_.trunks.size())
    return absl::InvalidArgumentError(absl::StrCat(
        "what a prompt taught ", lesson.learnt.size(),
        " trunks, of which this method has ", method_.trunks.size()));
  const auto of_all = [&](auto step) {
    for (std::size_t i = 0; i < method_.trunks.size(); ++i) {
      const Trunk& trunk = method_.trunks[i];
      const absl::Status status = step(*trunk.drafter, lesson.learnt[i]);
      if (!status.ok())
        return absl::Status(
            status.code(),
            absl::StrCat("what a prompt taught drafter ", trunk.drafter_name,
                         ": ", status.message()));
    }
    return absl::OkStatus();
  };
  BANYAN_RETURN_IF_ERROR(of_all([&](Drafter& drafter, const auto& learnt) {
    return drafter.CheckLesson(lesson.text, learnt);
  }));
  return of_all([&](Drafter& drafter, const auto& learnt) {
    return drafter.Absorb(lesson.text, learnt);
  });
}

bool Decoder::carries_state() const {
  return std::any_of(
      method_.trunks.begin(), method_.trunks.end(),
      [](const Trunk& trunk) { return trunk.drafter->carries_state(); });
}

absl::StatusOr<std::vector<TokenId>> Decoder::Decode(const Prompt& prompt,
                                                     const StopRule& stop,
                                                     RandomSource& random,
                                                     RoundSink sink) {
  BANYAN_ASSIGN_OR_RETURN(Sequence sequence, Begin(prompt, stop));
  std::vector<TokenId> emitted;
  while (sequence.stopped == StopReason::kNone) {
    BANYAN_ASSIGN_OR_RETURN(const RoundRecord record, Step(sequence, random));
    emitted.insert(emitted.end(), record.emitted.begin(), record.emitted.end());
    sink(record);
  }
  BANYAN_RETURN_IF_ERROR(Absorb(End(sequence)));
  return emitted;
}

}  // namespace banyan
