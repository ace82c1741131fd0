#include "experiments/run/recording.h"

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>

#include "absl/strings/strip.h"
#include "core/random/random_source.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "drafters/drafter.h"

namespace banyan {
namespace {

// From here on the peak is counted anew, where the system can do that.
void ResetPeakMemory() { std::ofstream("/proc/self/clear_refs") << "5"; }

std::uint64_t PeakMemory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::uint64_t kib = 0;
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, "VmHWM:") &&
        absl::SimpleAtoi(absl::StripSuffix(rest, " kB"), &kib))
      return kib * 1024;
  }
  return 0;
}

records::PromptRecord StartRecord(const Asked& asked) {
  records::PromptRecord record;
  record.set_prompt(static_cast<std::uint32_t>(asked.number));
  record.set_id(asked.prompt->id);
  record.set_kind(asked.prompt->kind);
  record.set_turn(static_cast<std::uint32_t>(asked.turn));
  for (TokenId token : asked.tokens)
    record.add_prompt_tokens(static_cast<std::uint32_t>(token));
  return record;
}

// Writes down what a batch decoder does.
class Recorder : public BatchListener {
 public:
  Recorder(const std::vector<Asked>& asked, bool carries) : carries_(carries) {
    for (const Asked& one : asked) records_.push_back(StartRecord(one));
  }

  void Admitted(std::size_t prompt, std::int64_t at_ns,
                std::int64_t prefill_ns) override {
    records_[prompt].set_admitted_ns(at_ns);
    records_[prompt].set_prefill_ns(prefill_ns);
  }
  void Round(std::size_t prompt, const RoundRecord& round) override {
    AddRound(round, records_[prompt]);
  }
  void Ended(std::size_t prompt, StopReason reason, std::int64_t at_ns,
             const Lesson& lesson) override {
    records_[prompt].set_stop(ToRecord(reason));
    records_[prompt].set_ended_ns(at_ns);
    records_[prompt].set_peak_memory_bytes(PeakMemory());
    for (const std::string& learnt : lesson.learnt)
      if (carries_) records_[prompt].add_learnt(learnt);
  }

  std::vector<records::PromptRecord> Take() { return std::move(records_); }

 private:
  bool carries_;
  std::vector<records::PromptRecord> records_;
};

void AddStores(const Method& method, records::PromptRecord& record) {
  for (std::size_t i = 0; i < method.trunks.size(); ++i) {
    const CarriedState* const state = method.trunks[i].drafter->carried();
    if (state == nullptr) continue;
    for (const Carried& carried : state->holdings()) {
      records::Store& store = *record.add_stores();
      store.set_trunk(static_cast<std::uint32_t>(i));
      store.set_unit(carried.unit);
      store.set_held(static_cast<std::uint64_t>(carried.held));
      store.set_dropped(static_cast<std::uint64_t>(carried.dropped));
    }
  }
}

}  // namespace

absl::StatusOr<std::vector<records::PromptRecord>> DecodeAsked(
    PreparedCell& cell, const std::vector<Asked>& asked, const StopRule& stop) {
  SeededSource random(cell.description.seed());
  std::vector<Prompt> prompts;
  for (const Asked& one : asked)
    prompts.push_back(
        {.id = static_cast<std::uint32_t>(one.number), .tokens = one.tokens});
  Recorder recorder(asked, cell.carries_state);
  ResetPeakMemory();
  BANYAN_RETURN_IF_ERROR(DecodeBatch(*cell.method.decoder, prompts, stop,
                                     cell.batch, random, recorder));
  std::vector<records::PromptRecord> records = recorder.Take();
  if (!records.empty())
    AddStores(cell.method.decoder->method(), records.back());
  return records;
}

absl::Status TakeOver(PreparedCell& cell, const records::PromptRecord& record) {
  Lesson lesson;
  lesson.text.assign(record.prompt_tokens().begin(),
                     record.prompt_tokens().end());
  lesson.text.insert(lesson.text.end(), record.tokens().begin(),
                     record.tokens().end());
  lesson.learnt.assign(record.learnt().begin(), record.learnt().end());
  return cell.method.decoder->Absorb(lesson);
}

}  // namespace banyan
