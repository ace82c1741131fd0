#include "decode/batch_decoder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/random/random_source.h"
#include "decode/decoder.h"
#include "decode/round.h"
#include "decode/sequence.h"

namespace banyan {
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

}  // namespace banyan
