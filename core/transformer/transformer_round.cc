#include "core/transformer/transformer_round.h"

#include <algorithm>
#include <bit>
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
    TransformerSequence& sequence, const RoundPlan& plan,
    std::unique_ptr<TransformerDrafter> drafter) {
  const Network& network = sequence.network();
  if (drafter != nullptr && drafter->traits().backend != &network.backend())
    return absl::UnimplementedError("a drafter on another device");
  auto round =
      absl::WrapUnique(new TransformerRound(sequence, std::move(drafter)));
  RoundTablesOptions options = {.plan = plan,
                                .vocab_size = network.vocab_size(),
                                .used_vocab = network.options().used_vocab};
  if (round->drafter_ != nullptr) {
    const TransformerDrafterTraits& traits = round->drafter_->traits();
    options.draft_used_vocab = traits.used_vocab;
    options.draft_columns = traits.columns;
    options.draft_rereads = traits.rereads;
    options.law_by_depth = traits.law_by_depth;
    options.most_levels = traits.most_levels;
  }
  BANYAN_ASSIGN_OR_RETURN(round->tables_, network.backend().NewRound(options));
  if (round->drafter_ != nullptr)
    BANYAN_RETURN_IF_ERROR(round->drafter_->Join(*round->tables_));
  return round;
}

TransformerRound::TransformerRound(TransformerSequence& sequence,
                                   std::unique_ptr<TransformerDrafter> drafter)
    : sequence_(sequence),
      drafter_(std::move(drafter)),
      draft_sequence_(drafter_ == nullptr ? nullptr
                                          : drafter_->traits().sequence) {}

int TransformerRound::longest_text() const {
  const int levels = static_cast<int>(tables_->widths().size());
  int longest = sequence_.network().context_limit() - levels;
  if (drafter_ != nullptr)
    longest = std::min(longest, drafter_->traits().longest_text + 1 - levels);
  return longest;
}

int TransformerRound::shortest_text() const {
  return drafter_ == nullptr ? 1 : drafter_->traits().shortest_text;
}

absl::Status TransformerRound::Begin(const Context& context) {
  bucket_ = 0;  // rounds without it may have moved the caches
  BANYAN_RETURN_IF_ERROR(sequence_.Commit({}));
  if (drafter_ != nullptr) BANYAN_RETURN_IF_ERROR(drafter_->Begin(context));
  const int draft = draft_sequence_ == nullptr ? 0 : draft_sequence_->length();
  return tables_->Begin({.text = context.tokens,
                         .prompt = context.prompt,
                         .round = context.round},
                        sequence_.length(), draft);
}

absl::Status TransformerRound::GrowBucket() {
  if (bucket_ > 0 && tables_->target_length() <= bucket_)
    return absl::OkStatus();
  const int bucket = std::max(
      kLeastBucket, static_cast<int>(std::bit_ceil(
                        static_cast<unsigned>(tables_->target_length()))));
  recording_ = nullptr;  // of buffers that may go
  asked_ = false;
  bucket_ = 0;
  // What the last round scored can be read until the next one is through.
  workspace_ = std::make_shared<Workspace>(backend());
  const int longest = std::min(bucket, sequence_.network().context_limit());
  const int rows = tables_->target_rows().rows;
  BANYAN_RETURN_IF_ERROR(
      sequence_.Reserve(longest - sequence_.length() + rows));
  if (draft_sequence_ != nullptr)
    BANYAN_RETURN_IF_ERROR(draft_sequence_->Reserve(
        longest - draft_sequence_->length() + tables_->all_draft_rows()));
  bucket_ = longest;
  return absl::OkStatus();
}

absl::Status TransformerRound::Ask() {
  const int levels = static_cast<int>(tables_->widths().size());
  for (int level = 0; level < levels; ++level) {
    BANYAN_RETURN_IF_ERROR(tables_->Select(level));
    BANYAN_ASSIGN_OR_RETURN(
        const Tensor logits,
        drafter_->Logits(level, tables_->draft_rows(level), bucket_));
    BANYAN_RETURN_IF_ERROR(tables_->Draw(level, logits));
  }
  BANYAN_RETURN_IF_ERROR(tables_->Select(levels));
  DeviceRows rows = tables_->target_rows();
  rows.length.most = bucket_;
  BANYAN_ASSIGN_OR_RETURN(
      PassInput input,
      InputOnDevice(
          sequence_, rows,
          drafter_ == nullptr ? std::vector<int>() : drafter_->traits().taps,
          workspace_));
  TransformerPass pass(sequence_.network(), std::move(input));
  BANYAN_RETURN_IF_ERROR(pass.Run());
  scores_ = pass.ScoresOf(pass.input().parts.front());
  BANYAN_RETURN_IF_ERROR(tables_->Verify(pass.logits()));
  std::vector<KvCache*> draft;
  if (draft_sequence_ != nullptr) draft = draft_sequence_->caches();
  BANYAN_RETURN_IF_ERROR(tables_->Keep(sequence_.caches(), draft));
  return drafter_ == nullptr ? absl::OkStatus()
                             : drafter_->Take(pass, tables_->kept_rows());
}

absl::StatusOr<RoundFindings> TransformerRound::Run() {
  BANYAN_RETURN_IF_ERROR(GrowBucket());
  if (recording_ == nullptr && asked_) {
    BANYAN_ASSIGN_OR_RETURN(recording_,
                            backend().Record([this] { return Ask(); }));
  }
  if (recording_ != nullptr)
    BANYAN_RETURN_IF_ERROR(backend().Replay(*recording_));
  else
    BANYAN_RETURN_IF_ERROR(Ask());
  asked_ = true;
  BANYAN_ASSIGN_OR_RETURN(RoundFindings findings, tables_->Read());
  sequence_.Settle(tables_->target_length());
  if (draft_sequence_ != nullptr)
    draft_sequence_->Settle(tables_->draft_length());
  return findings;
}

}  // namespace banyan
