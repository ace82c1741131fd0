#include "core/transformer/transformer_round.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

#include "absl/algorithm/container.h"
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
  }
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

absl::Status TransformerRound::MakeRoom() {
  const int bucket = std::max(
      kLeastBucket, static_cast<int>(std::bit_ceil(
                        static_cast<unsigned>(steps_->target_length()))));
  bucket_ = 0;
  const int longest = std::min(bucket, network().context_limit());
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

absl::StatusOr<std::shared_ptr<TransformerRound::Joined>>
TransformerRound::JoinedOf(absl::Span<TransformerRound* const> rounds) {
  std::shared_ptr<Joined> joined = rounds.front()->joined_;
  const bool stays = joined != nullptr &&
                     joined->members.size() == rounds.size() &&
                     absl::c_all_of(rounds, [&](const TransformerRound* round) {
                       return round->joined_ == joined && round->HasRoom();
                     });
  if (stays) return joined;
  // Recordings of buffers that may go are dropped. What the last round scored
  // can be read until the next one is through.
  joined = nullptr;
  for (TransformerRound* round : rounds) round->joined_ = nullptr;
  for (TransformerRound* round : rounds)
    if (!round->HasRoom()) BANYAN_RETURN_IF_ERROR(round->MakeRoom());
  joined = std::make_shared<Joined>(Joined{
      .members = {rounds.begin(), rounds.end()},
      .workspace = std::make_shared<Workspace>(rounds.front()->backend())});
  for (TransformerRound* round : rounds) round->joined_ = joined;
  return joined;
}

absl::Status TransformerRound::Draft(const Joined& joined,
                                     std::size_t drafter) {
  const int number = static_cast<int>(drafter);
  const auto select = [&](int level) -> absl::Status {
    for (TransformerRound* member : joined.members)
      BANYAN_RETURN_IF_ERROR(member->steps_->Select(number, level));
    return absl::OkStatus();
  };
  const TransformerRound& first = *joined.members.front();
  if (first.drafters_[drafter] == nullptr) return select(0);
  const int levels = first.steps_->laid_out().layout().drafters[drafter].levels;
  for (int level = 0; level < levels; ++level) {
    BANYAN_RETURN_IF_ERROR(select(level));
    std::vector<DraftTurn> turns;
    for (TransformerRound* member : joined.members) {
      turns.push_back({member->drafters_[drafter].get(),
                       member->steps_->draft_rows(number, level)});
      turns.back().rows.length.most = member->bucket_;
    }
    BANYAN_ASSIGN_OR_RETURN(const std::vector<Tensor> logits,
                            first.drafters_[drafter]->Logits(level, turns));
    for (std::size_t i = 0; i < logits.size(); ++i)
      BANYAN_RETURN_IF_ERROR(
          joined.members[i]->steps_->Draw(number, level, logits[i]));
  }
  return select(levels);
}

absl::Status TransformerRound::Ask(const Joined& joined) {
  const TransformerRound& first = *joined.members.front();
  const std::size_t drafters = first.drafters_.size();
  for (std::size_t i = 0; i < drafters; ++i)
    BANYAN_RETURN_IF_ERROR(Draft(joined, i));
  std::vector<DevicePart> parts;
  for (TransformerRound* member : joined.members) {
    BANYAN_RETURN_IF_ERROR(member->steps_->Merge());
    parts.push_back({&member->sequence_, member->steps_->target_rows()});
    parts.back().rows.length.most = member->bucket_;
  }
  BANYAN_ASSIGN_OR_RETURN(
      PassInput input,
      InputOnDevice(first.network(), parts,
                    first.steps_->laid_out().plan().taps, joined.workspace));
  TransformerPass pass(first.network(), std::move(input));
  BANYAN_RETURN_IF_ERROR(pass.Run());
  const std::vector<Tensor> logits = pass.LogitsByPart();
  for (std::size_t m = 0; m < parts.size(); ++m) {
    TransformerRound& member = *joined.members[m];
    const PassPart& part = pass.input().parts[m];
    member.scores_ = pass.ScoresOf(part);
    RoundSteps& steps = *member.steps_;
    BANYAN_RETURN_IF_ERROR(steps.Judge(logits[m]));
    BANYAN_RETURN_IF_ERROR(steps.Keep(-1, member.sequence_.caches()));
    for (std::size_t i = 0; i < drafters; ++i) {
      if (TransformerSequence* const own = member.OwnOf(i))
        BANYAN_RETURN_IF_ERROR(steps.Keep(static_cast<int>(i), own->caches()));
      if (TransformerDrafter* const drafter = member.drafters_[i].get())
        BANYAN_RETURN_IF_ERROR(drafter->Take(pass, part, steps.kept_rows()));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<RoundFindings> TransformerRound::Read() {
  BANYAN_ASSIGN_OR_RETURN(RoundFindings findings, steps_->Read());
  sequence_.Settle(steps_->target_length());
  for (std::size_t i = 0; i < drafters_.size(); ++i)
    if (TransformerSequence* const own = OwnOf(i))
      own->Settle(steps_->draft_length(static_cast<int>(i)));
  return findings;
}

absl::StatusOr<RoundsFound> TransformerRound::Run(
    absl::Span<TransformerRound* const> rounds) {
  BANYAN_ASSIGN_OR_RETURN(const std::shared_ptr<Joined> joined,
                          JoinedOf(rounds));
  Backend& backend = rounds.front()->backend();
  if (joined->recording == nullptr && joined->asked) {
    absl::StatusOr<std::unique_ptr<Recording>> recording =
        backend.Record([&joined] { return Ask(*joined); });
    if (!absl::IsUnimplemented(recording.status())) {
      BANYAN_RETURN_IF_ERROR(recording.status());
      joined->recording = *std::move(recording);
    }
  }
  if (joined->recording != nullptr)
    BANYAN_RETURN_IF_ERROR(backend.Replay(*joined->recording));
  else
    BANYAN_RETURN_IF_ERROR(Ask(*joined));
  joined->asked = true;
  RoundsFound found;
  for (TransformerRound* round : rounds) found.push_back(round->Read());
  return found;
}

}  // namespace banyan
