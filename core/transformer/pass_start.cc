// What the rows of a pass start from.
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/checkpoint/architecture.h"
#include "core/model/model.h"
#include "core/ops/activate.h"
#include "core/ops/attention.h"
#include "core/ops/backend.h"
#include "core/ops/kv_cache.h"
#include "core/ops/linear.h"
#include "core/ops/norm.h"
#include "core/ops/rotate.h"
#include "core/ops/tensor.h"
#include "core/ops/weight.h"
#include "core/transformer/pass.h"
#include "core/transformer/pass_scores.h"
#include "core/transformer/session.h"
#include "core/transformer/transformer.h"
#include "core/transformer/weights.h"
#include "core/transformer/workspace.h"

namespace banyan {
namespace {

// The part's rows that no view has computed, in runs of neighbours.
std::vector<PassPart> RunsLeft(const PassPart& part) {
  std::vector<PassPart> runs;
  const std::vector<int>& done = part.request->done.rows;
  for (int row = 0; row < part.rows; ++row) {
    if (done[static_cast<std::size_t>(row)] >= 0) continue;
    if (runs.empty() || runs.back().from + runs.back().rows < row)
      runs.push_back(
          {.session = part.session, .request = part.request, .from = row});
    ++runs.back().rows;
  }
  for (PassPart& run : runs) run.logits_from = run.rows;
  return runs;
}

absl::Span<std::byte> AsBytes(absl::Span<float> numbers) {
  return {reinterpret_cast<std::byte*>(numbers.data()),
          numbers.size() * sizeof(float)};
}

}  // namespace

absl::Status TransformerPass::GoOn(std::size_t start) {
  for (const PassPart& part : parts_)
    BANYAN_RETURN_IF_ERROR(TakeKeys(part, start));
  std::vector<int> others(static_cast<std::size_t>(rows_), -1);
  BANYAN_ASSIGN_OR_RETURN(const Tensor computed, RunOthers(start, others));
  if (!computed.empty()) {
    BANYAN_ASSIGN_OR_RETURN(Ints rows,
                            workspace_->List(Workspace::kIds, others));
    BANYAN_RETURN_IF_ERROR(backend_.Copy({computed, stream_, rows}));
  }
  for (const PassPart& part : parts_) {
    const DoneRows& done = part.request->done;
    BANYAN_ASSIGN_OR_RETURN(Ints rows,
                            workspace_->List(Workspace::kIds, done.rows));
    const auto& view = static_cast<const TransformerSession&>(*done.view);
    BANYAN_RETURN_IF_ERROR(backend_.Copy(
        {view.kept_rows(), stream_.Rows(part.first_row, part.rows), rows}));
  }
  return Tap(static_cast<int>(start));
}

absl::Status TransformerPass::TakeKeys(const PassPart& part,
                                       std::size_t start) {
  const std::vector<int>& done = part.request->done.rows;
  auto& view = static_cast<TransformerSession&>(*part.request->done.view);
  for (std::size_t first = 0; first < done.size();) {
    std::size_t end = first;
    while (end < done.size() && done[end] >= 0) ++end;
    const std::vector<int> slots(
        done.begin() + static_cast<std::ptrdiff_t>(first),
        done.begin() + static_cast<std::ptrdiff_t>(end));
    for (std::size_t place = 0; !slots.empty() && place < start; ++place)
      BANYAN_RETURN_IF_ERROR(backend_.MoveKv(
          {.cache = &part.session->pending_cache(place),
           .slots = slots,
           .first_slot =
               part.pending_slot + part.first_pending + static_cast<int>(first),
           .from = &view.pending_cache(place)}));
    first = end + 1;
  }
  return absl::OkStatus();
}

// Of the rows that no view has computed; `computed_as` says for each row of
// ours which of them it is.
absl::StatusOr<Tensor> TransformerPass::RunOthers(
    std::size_t start, std::vector<int>& computed_as) {
  std::vector<PassPart> runs;
  int count = 0;
  for (const PassPart& part : parts_)
    for (const PassPart& run : RunsLeft(part)) {
      for (int row = 0; row < run.rows; ++row)
        computed_as[static_cast<std::size_t>(part.first_row + run.from + row)] =
            count++;
      runs.push_back(run);
    }
  if (runs.empty()) return Tensor{};
  TransformerPass first(model_, std::move(runs), start);
  BANYAN_RETURN_IF_ERROR(first.Begin(/*embeds=*/true));
  BANYAN_RETURN_IF_ERROR(first.RunLayers(0));
  // Its numbers stay until this pass has read them.
  others_ = first.workspace_;
  return first.stream_;
}

// Makes room in the caches, and uploads tokens, positions and who sees whom.
absl::Status TransformerPass::Begin(bool embeds) {
  std::vector<int> ids;
  std::vector<int> positions;
  std::vector<int> visible;
  for (PassPart& part : parts_) {
    const TokenBatch& batch = *part.request->batch;
    TransformerSession& session = *part.session;
    BANYAN_RETURN_IF_ERROR(session.Reserve(batch.size()));
    const auto add = [&part](const std::vector<int>& from, int row_size,
                             std::vector<int>& to) {
      const auto first = from.begin() + std::ptrdiff_t{part.from} * row_size;
      to.insert(to.end(), first, first + std::ptrdiff_t{part.rows} * row_size);
    };
    add(batch.tokens, 1, ids);
    add(batch.positions, 1, positions);
    part.committed = session.prefix_slots();
    part.first_pending = session.pending() + part.from;
    part.pending_slot = session.pending_slot();
    part.visible_words = (session.pending() + batch.size() + 31) / 32;
    part.visible.offset = visible.size();
    part.visible.size = part.rows * part.visible_words;
    add(session.Visible(batch, part.visible_words), part.visible_words,
        visible);
  }
  BANYAN_ASSIGN_OR_RETURN(Ints bits,
                          workspace_->List(Workspace::kVisible, visible));
  for (PassPart& part : parts_) part.visible.buffer = bits.buffer;

  BANYAN_RETURN_IF_ERROR(MakeStream());
  if (embeds) {
    BANYAN_ASSIGN_OR_RETURN(Ints tokens,
                            workspace_->List(Workspace::kIds, ids));
    BANYAN_RETURN_IF_ERROR(Embed(tokens));
  }
  if (model_.weights_.positions != nullptr) {
    if (!embeds) return absl::OkStatus();
    BANYAN_ASSIGN_OR_RETURN(Ints places,
                            workspace_->List(Workspace::kPositions, positions));
    return backend_.Embed(
        {places, model_.weights_.positions.get(), stream_, /*add=*/true});
  }
  BANYAN_ASSIGN_OR_RETURN(angles_, workspace_->Matrix(Workspace::kAngles, rows_,
                                                      architecture_.head_dim));
  std::vector<float> angles(static_cast<std::size_t>(rows_) * angles_.stride);
  for (std::size_t i = 0; i < positions.size(); ++i)
    model_.rotation_->Write(positions[i], &angles[i * angles_.stride]);
  return backend_.Upload(AsBytes(absl::MakeSpan(angles)), *angles_.buffer, 0);
}

absl::Status TransformerPass::BeginOnDevice() {
  BANYAN_RETURN_IF_ERROR(MakeStream());
  BANYAN_RETURN_IF_ERROR(Embed(on_device_->tokens));
  if (model_.weights_.positions != nullptr)
    return backend_.Embed({on_device_->positions,
                           model_.weights_.positions.get(), stream_,
                           /*add=*/true});
  BANYAN_ASSIGN_OR_RETURN(angles_, workspace_->Matrix(Workspace::kAngles, rows_,
                                                      architecture_.head_dim));
  BANYAN_ASSIGN_OR_RETURN(const Tensor angles, model_.Angles());
  return backend_.Copy(
      {.x = angles, .y = angles_, .rows = on_device_->positions});
}

absl::Status TransformerPass::MakeStream() {
  const int hidden = architecture_.hidden_size;
  BANYAN_ASSIGN_OR_RETURN(
      stream_, workspace_->Matrix(Workspace::kStream, rows_, hidden));
  BANYAN_ASSIGN_OR_RETURN(
      normed_, workspace_->Matrix(Workspace::kNormed, rows_, hidden));
  return absl::OkStatus();
}

// What the rows start from; learned positions and angles aside.
absl::Status TransformerPass::Embed(const Ints& tokens) {
  if (architecture_.input.kind != VectorInput::Kind::kNone)
    return EmbedBeside(tokens);
  BANYAN_RETURN_IF_ERROR(
      backend_.Embed({tokens, model_.weights_.embedding.get(), stream_}));
  return PutVectors();
}

absl::Status TransformerPass::PutVectors() {
  if (on_device_ != nullptr)
    return on_device_->vectors.empty()
               ? absl::OkStatus()
               : backend_.Copy({on_device_->vectors, stream_});
  for (const PassPart& part : parts_) BANYAN_RETURN_IF_ERROR(PutVectors(part));
  return absl::OkStatus();
}

absl::Status TransformerPass::PutVectors(const PassPart& part) {
  const ScoreRequest& request = *part.request;
  const auto size = static_cast<std::size_t>(stream_.columns);
  std::vector<float> run;  // of neighbours, which are written together
  int first = 0;
  const auto write = [&] {
    if (run.empty()) return absl::OkStatus();
    const auto row = static_cast<std::size_t>(part.first_row + first);
    return backend_.Upload(AsBytes(absl::MakeSpan(run)), *stream_.buffer,
                           row * stream_.stride * sizeof(float));
  };
  for (std::size_t i = 0; i * size < request.vectors.size(); ++i) {
    const int row = (request.vector_rows.empty() ? static_cast<int>(i)
                                                 : request.vector_rows[i]) -
                    part.from;
    if (row < 0 || row >= part.rows) continue;
    if (row != first + static_cast<int>(run.size() / stream_.stride)) {
      BANYAN_RETURN_IF_ERROR(write());
      run.clear();
      first = row;
    }
    const std::size_t at = run.size();
    run.resize(at + stream_.stride);
    absl::c_copy(request.vectors.subspan(i * size, size),
                 run.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return write();
}

Tensor TransformerPass::TokenSide() const {
  const int hidden = architecture_.hidden_size;
  return beside_.Columns(architecture_.input.vector_first ? hidden : 0, hidden);
}

Tensor TransformerPass::VectorSide() const {
  const int hidden = architecture_.hidden_size;
  return beside_.Columns(architecture_.input.vector_first ? 0 : hidden, hidden);
}

absl::Status TransformerPass::EmbedBeside(const Ints& tokens) {
  const VectorInput& input = architecture_.input;
  const TransformerWeights& weights = model_.weights_;
  BANYAN_ASSIGN_OR_RETURN(beside_,
                          workspace_->Matrix(Workspace::kBeside, rows_,
                                             2 * architecture_.hidden_size));
  const Tensor embedded = TokenSide();
  BANYAN_RETURN_IF_ERROR(
      backend_.Embed({tokens, weights.embedding.get(), embedded}));
  if (input.hides_first_token)
    BANYAN_RETURN_IF_ERROR(HideFirstTokens(embedded));
  if (weights.token_norm.size > 0) {
    NormArgs norm = NormOf(weights.token_norm, {});
    norm.x = norm.y = embedded;
    BANYAN_RETURN_IF_ERROR(backend_.Norm(norm));
  }
  BANYAN_RETURN_IF_ERROR(PutVectors());
  if (input.kind == VectorInput::Kind::kBeside) return absl::OkStatus();
  BANYAN_RETURN_IF_ERROR(PutBeside());
  return backend_.Linear({.x = beside_,
                          .weight = weights.fuse.get(),
                          .bias = weights.fuse_bias.view(),
                          .y = stream_});
}

absl::Status TransformerPass::HideFirstTokens(const Tensor& embedded) {
  std::vector<float> zeros(static_cast<std::size_t>(embedded.columns));
  for (const PassPart& part : parts_) {
    if (part.request == nullptr) continue;  // a text's first pair is a host's
    const std::vector<int>& positions = part.request->batch->positions;
    for (int i = 0; i < part.rows; ++i) {
      if (positions[static_cast<std::size_t>(part.from + i)] > 0) continue;
      const auto row = static_cast<std::size_t>(part.first_row + i);
      BANYAN_RETURN_IF_ERROR(backend_.Upload(
          AsBytes(absl::MakeSpan(zeros)), *embedded.buffer,
          (embedded.offset + row * embedded.stride) * sizeof(float)));
    }
  }
  return absl::OkStatus();
}

absl::Status TransformerPass::PutBeside() {
  const RowVector& norm = model_.weights_.vector_norm;
  if (norm.size == 0) return backend_.Copy({stream_, VectorSide()});
  NormArgs args = NormOf(norm, {});
  args.y = VectorSide();
  return backend_.Norm(args);
}

}  // namespace banyan
