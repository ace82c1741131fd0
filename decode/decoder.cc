#include "decode/decoder.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/check.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
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

namespace {

class Batch {
 public:
  Batch(Decoder& decoder, const StopRule& stop, RandomSource& random,
        BatchListener& listener)
      : decoder_(decoder), stop_(stop), random_(random), listener_(listener) {}

  bool empty() const { return slots_.empty(); }
  int size() const { return static_cast<int>(slots_.size()); }

  absl::Status Admit(std::size_t number, const Prompt& prompt) {
    const std::int64_t start = decoder_.clock().NowNs();
    BANYAN_ASSIGN_OR_RETURN(Sequence sequence, decoder_.Begin(prompt, stop_));
    BANYAN_RETURN_IF_ERROR(sequence.target.Finish());
    const std::int64_t prefill = decoder_.clock().NowNs() - start;
    listener_.Admitted(number, now_, prefill);
    now_ += prefill;
    slots_.push_back(std::make_unique<Slot>(Slot{number, std::move(sequence)}));
    return RemoveEnded();
  }

  absl::Status Round() {
    std::vector<Sequence*> sequences;
    for (const auto& slot : slots_) sequences.push_back(&slot->sequence);
    BANYAN_ASSIGN_OR_RETURN(const auto records,
                            decoder_.StepAll(sequences, random_));
    absl::Status failed;  // the first that did
    std::int64_t took = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
      failed.Update(records[i].status());
      if (!records[i].ok()) continue;
      took = records[i]->times.TotalNs();  // of all together
      listener_.Round(slots_[i]->number, *records[i]);
    }
    now_ += took;
    BANYAN_RETURN_IF_ERROR(RemoveEnded());
    return failed;
  }

 private:
  struct Slot {
    std::size_t number;
    Sequence sequence;
  };

  absl::Status RemoveEnded() {
    const auto ended = [](const std::unique_ptr<Slot>& slot) {
      return slot->sequence.stopped != StopReason::kNone;
    };
    for (const auto& slot : slots_) {
      if (!ended(slot)) continue;
      Lesson& lesson = lessons_[slot->number];
      lesson = Decoder::End(slot->sequence);
      listener_.Ended(slot->number, slot->sequence.stopped, now_, lesson);
    }
    slots_.erase(std::remove_if(slots_.begin(), slots_.end(), ended),
                 slots_.end());
    for (; !lessons_.empty() && lessons_.begin()->first == taught_; ++taught_) {
      BANYAN_RETURN_IF_ERROR(decoder_.Absorb(lessons_.begin()->second));
      lessons_.erase(lessons_.begin());
    }
    return absl::OkStatus();
  }

  Decoder& decoder_;
  const StopRule& stop_;
  RandomSource& random_;
  BatchListener& listener_;
  std::int64_t now_ = 0;
  std::vector<std::unique_ptr<Slot>> slots_;  // in the order of the prompts
  std::size_t taught_ = 0;  // prompts whose lessons are taken over
  std::map<std::size_t, Lesson>
      lessons_;  // of those that ended before their turn
};

}  // namespace

absl::Status DecodeBatch(Decoder& decoder, absl::Span<const Prompt> prompts,
                         const StopRule& stop, int slots, RandomSource& random,
                         BatchListener& listener) {
  Check(slots >= 1, "a batch without a place");
  Batch batch(decoder, stop, random, listener);
  std::size_t next = 0;
  while (next < prompts.size() || !batch.empty()) {
    for (; next < prompts.size() && batch.size() < slots; ++next)
      BANYAN_RETURN_IF_ERROR(batch.Admit(next, prompts[next]));
    if (!batch.empty()) BANYAN_RETURN_IF_ERROR(batch.Round());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TokenId>> DecodePlainly(const Model& target,
                                                   const SamplingRule& rule,
                                                   const Prompt& prompt,
                                                   const StopRule& stop,
                                                   RandomSource& random) {
  BANYAN_ASSIGN_OR_RETURN(Sequence sequence,
                          Sequence::Start(target, prompt, stop));
  const Context& context = sequence.context;
  std::vector<TokenId> emitted;
  while (sequence.stopped == StopReason::kNone) {
    const TokenBatch batch =
        TokenBatch::Chain({context.root()}, sequence.session->length());
    BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Scores> scores,
                            ScoreOne(target, *sequence.session, batch));
    BANYAN_ASSIGN_OR_RETURN(Distribution law,
                            scores->Law(0, rule, context.tokens, {}));
    const Chance chance(random, context.prompt, context.round);
    const TokenId next =
        law.TokenAt(chance.Draw(law.weights(), Purpose::kTarget, 0));
    BANYAN_RETURN_IF_ERROR(sequence.session->Commit({0}));
    sequence.Append(sequence.Cut({next}));
    emitted.push_back(next);
  }
  return emitted;
}

}  // namespace banyan
