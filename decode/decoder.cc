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
#include "decode/commit.h"
#include "decode/method.h"
#include "decode/round.h"
#include "decode/round_engine.h"
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
    : target_(&target), method_(std::move(method)), engine_(std::move(clock)) {
  std::set<int> taps;
  for (const Trunk& trunk : method_.trunks)
    taps.insert(trunk.drafter->traits().taps.begin(),
                trunk.drafter->traits().taps.end());
  taps_.assign(taps.begin(), taps.end());
}

absl::StatusOr<Sequence> Decoder::Begin(const Prompt& prompt,
                                        const StopRule& stop) {
  BANYAN_ASSIGN_OR_RETURN(Sequence sequence,
                          Sequence::Start(*target_, prompt, stop, taps_));
  sequence.keep_facts = keep_facts_;
  for (const Trunk& trunk : method_.trunks) {
    sequence.trunks.push_back({trunk.drafter.get(), trunk.drafter->NewSession(),
                               trunk.policy->Clone()});
    DraftSession& session = *sequence.trunks.back().session;
    if (TargetPassPart* part = session.facets().in_target_pass)
      BANYAN_RETURN_IF_ERROR(part->TakeViews(*sequence.session));
    BANYAN_RETURN_IF_ERROR(session.Begin(sequence.context));
  }
  return sequence;
}

absl::StatusOr<RoundRecords> Decoder::StepAll(
    absl::Span<Sequence* const> sequences, RandomSource& random) {
  for (const Sequence* sequence : sequences)
    Check(sequence->stopped == StopReason::kNone, "a stopped sequence");
  return engine_.Run(method_, sequences, random);
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
    lesson.learnt.push_back(trunk.session->End());
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
      CarriedState* const carried = trunk.drafter->carried();
      if (carried == nullptr) continue;
      const absl::Status status = step(*carried, lesson.learnt[i]);
      if (!status.ok())
        return absl::Status(
            status.code(),
            absl::StrCat("what a prompt taught drafter ", trunk.drafter_name,
                         ": ", status.message()));
    }
    return absl::OkStatus();
  };
  BANYAN_RETURN_IF_ERROR(of_all([&](CarriedState& state, const auto& learnt) {
    return state.CheckLesson(lesson.text, learnt);
  }));
  return of_all([&](CarriedState& state, const auto& learnt) {
    return state.Absorb(lesson.text, learnt);
  });
}

bool Decoder::carries_state() const {
  return std::any_of(
      method_.trunks.begin(), method_.trunks.end(),
      [](const Trunk& trunk) { return trunk.drafter->carried() != nullptr; });
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
