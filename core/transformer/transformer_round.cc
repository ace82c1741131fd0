#include "core/transformer/transformer_round.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/memory/memory.h"
#include "core/ops/op_args.h"
#include "core/transformer/pass.h"
#include "core/transformer/pass_input.h"

namespace banyan {
namespace {

// Texts up to twice as long share a recording.
constexpr int kLeastBucket = 256;

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceRound>> TransformerRound::Create(
    TransformerSequence& sequence, RoundPlan plan,
    std::vector<std::unique_ptr<TransformerDrafter>> drafters) {
  const Network& network = sequence.network();
  if (drafters.size() > static_cast<std::size_t>(kMostRoundDrafters))
    return absl::UnimplementedError("more drafters than a round takes");
  auto round =
      absl::WrapUnique(new TransformerRound(sequence, std::move(drafters)));
  plan.vocab_size = network.vocab_size();
  plan.used_vocab = network.options().used_vocab;
  std::set<int> taps;
  for (std::size_t i = 0; i < round->drafters_.size(); ++i) {
    if (round->drafters_[i] == nullptr) continue;
    const TransformerDrafterTraits& traits = round->drafters_[i]->traits();
    if (traits.backend != &network.backend())
      return absl::UnimplementedError("a drafter on another device");
    RoundDrafter& drafter = plan.drafters[i];
    drafter.used_vocab = traits.used_vocab;
    drafter.columns = traits.columns;
    drafter.rereads = traits.rereads;
    drafter.by_depth = traits.by_depth;
    drafter.most_levels = traits.most_levels;
    taps.insert(traits.taps.begin(), traits.taps.end());
  }
  round->taps_.assign(taps.begin(), taps.end());
  BANYAN_ASSIGN_OR_RETURN(
      round->steps_, RoundSteps::Create(network.backend(), std::move(plan)));
  const LaidOut& laid_out = round->steps_->laid_out();
  for (int i = 0; i < laid_out.layout().count; ++i) {
    if (round->drafters_[static_cast<std::size_t>(i)] == nullptr) continue;
    DrafterRoom room = {.kept = laid_out.layout().levels + 1,
                        .all = laid_out.layout().drafters[i].slots};
    for (int width : laid_out.widths(i))
      room.level = std::max(room.level, width);
    BANYAN_RETURN_IF_ERROR(
        round->drafters_[static_cast<std::size_t>(i)]->Join(room));
  }
  return round;
}

int TransformerRound::longest_text() const {
  const RoundLayout& at = steps_->laid_out().layout();
  int longest = sequence_.network().context_limit() - at.levels;
  for (std::size_t i = 0; i < drafters_.size(); ++i)
    if (drafters_[i] != nullptr)
      longest = std::min(longest, drafters_[i]->traits().longest_text + 1 -
                                      at.drafters[i].levels);
  return longest;
}

int TransformerRound::shortest_text() const {
  int shortest = 1;
  for (const auto& drafter : drafters_)
    if (drafter != nullptr)
      shortest = std::max(shortest, drafter->traits().shortest_text);
  return shortest;
}

absl::Status TransformerRound::Begin(const Context& context) {
  bucket_ = 0;  // rounds without it may have moved the caches
  BANYAN_RETURN_IF_ERROR(sequence_.Commit({}));
  RoundStart start = {.text = context.tokens,
                      .prompt = context.prompt,
                      .round = context.round,
                      .target = sequence_.length()};
  for (std::size_t i = 0; i < drafters_.size(); ++i) {
    if (drafters_[i] != nullptr)
      BANYAN_RETURN_IF_ERROR(drafters_[i]->Begin(context));
    const TransformerSequence* const own = OwnOf(i);
    start.drafts.push_back(own == nullptr ? 0 : own->length());
  }
  return steps_->Begin(start);
}

absl::Status TransformerRound::GrowBucket() {
  if (bucket_ > 0 && steps_->target_length() <= bucket_)
    return absl::OkStatus();
  const int bucket = std::max(
      kLeastBucket, static_cast<int>(std::bit_ceil(
                        static_cast<unsigned>(steps_->target_length()))));
  recording_ = nullptr;  // of buffers that may go
  asked_ = false;
  bucket_ = 0;
  // What the last round scored can be read until the next one is through.
  workspace_ = std::make_shared<Workspace>(backend());
  const int longest = std::min(bucket, sequence_.network().context_limit());
  const RoundLayout& at = steps_->laid_out().layout();
  BANYAN_RETURN_IF_ERROR(
      sequence_.Reserve(longest - sequence_.length() + at.rows));
  for (std::size_t i = 0; i < drafters_.size(); ++i)
    if (TransformerSequence* const own = OwnOf(i))
      BANYAN_RETURN_IF_ERROR(
          own->Reserve(longest - own->length() + at.drafters[i].slots));
  bucket_ = longest;
  return absl::OkStatus();
}

absl::Status TransformerRound::Draft(int drafter) {
  if (drafters_[static_cast<std::size_t>(drafter)] == nullptr)
    return steps_->Select(drafter, 0);
  const int levels = steps_->laid_out().layout().drafters[drafter].levels;
  for (int level = 0; level < levels; ++level) {
    BANYAN_RETURN_IF_ERROR(steps_->Select(drafter, level));
    BANYAN_ASSIGN_OR_RETURN(
        const Tensor logits,
        drafters_[static_cast<std::size_t>(drafter)]->Logits(
            level, steps_->draft_rows(drafter, level), bucket_));
    BANYAN_RETURN_IF_ERROR(steps_->Draw(drafter, level, logits));
  }
  return steps_->Select(drafter, levels);
}

absl::Status TransformerRound::Ask() {
  for (std::size_t i = 0; i < drafters_.size(); ++i)
    BANYAN_RETURN_IF_ERROR(Draft(static_cast<int>(i)));
  BANYAN_RETURN_IF_ERROR(steps_->Merge());
  DeviceRows rows = steps_->target_rows();
  rows.length.most = bucket_;
  BANYAN_ASSIGN_OR_RETURN(PassInput input,
                          InputOnDevice(sequence_, rows, taps_, workspace_));
  TransformerPass pass(sequence_.network(), std::move(input));
  BANYAN_RETURN_IF_ERROR(pass.Run());
  scores_ = pass.ScoresOf(pass.input().parts.front());
  BANYAN_RETURN_IF_ERROR(steps_->Judge(pass.logits()));
  BANYAN_RETURN_IF_ERROR(steps_->Keep(-1, sequence_.caches()));
  for (std::size_t i = 0; i < drafters_.size(); ++i) {
    if (TransformerSequence* const own = OwnOf(i))
      BANYAN_RETURN_IF_ERROR(steps_->Keep(static_cast<int>(i), own->caches()));
    if (drafters_[i] != nullptr)
      BANYAN_RETURN_IF_ERROR(drafters_[i]->Take(pass, steps_->kept_rows()));
  }
  return absl::OkStatus();
}

absl::StatusOr<RoundFindings> TransformerRound::Run() {
  BANYAN_RETURN_IF_ERROR(GrowBucket());
  if (recording_ == nullptr && asked_ && records_) {
    absl::StatusOr<std::unique_ptr<Recording>> recording =
        backend().Record([this] { return Ask(); });
    records_ = !absl::IsUnimplemented(recording.status());
    if (records_) {
      BANYAN_RETURN_IF_ERROR(recording.status());
      recording_ = *std::move(recording);
    }
  }
  if (recording_ != nullptr)
    BANYAN_RETURN_IF_ERROR(backend().Replay(*recording_));
  else
    BANYAN_RETURN_IF_ERROR(Ask());
  asked_ = true;
  BANYAN_ASSIGN_OR_RETURN(RoundFindings findings, steps_->Read());
  sequence_.Settle(steps_->target_length());
  for (std::size_t i = 0; i < drafters_.size(); ++i)
    if (TransformerSequence* const own = OwnOf(i))
      own->Settle(steps_->draft_length(static_cast<int>(i)));
  return findings;
}

}  // namespace banyan
