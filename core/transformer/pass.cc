#include "core/transformer/pass.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

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
#include "core/transformer/pass_scores.h"
#include "core/transformer/session.h"
#include "core/transformer/transformer.h"
#include "core/transformer/weights.h"
#include "core/transformer/workspace.h"

namespace banyan {
namespace {

bool Wants(const PassPart& part, int tap) {
  return std::find(part.taps.begin(), part.taps.end(), tap) != part.taps.end();
}

absl::Span<std::byte> AsBytes(absl::Span<float> numbers) {
  return {reinterpret_cast<std::byte*>(numbers.data()),
          numbers.size() * sizeof(float)};
}

}  // namespace

TransformerPass::TransformerPass(const Transformer& model,
                                 absl::Span<const ScoreRequest* const> requests)
    : model_(model),
      architecture_(model.architecture_),
      backend_(*model.backend_) {
  std::shared_ptr<Workspaces> pool = model.workspaces_;
  workspace_ = {pool->Take(backend_).release(), [pool](Workspace* workspace) {
                  pool->Return(std::unique_ptr<Workspace>(workspace));
                }};
  for (const ScoreRequest* request : requests) {
    parts_.push_back({static_cast<TransformerSession*>(request->session),
                      request, request->batch->size(), request->taps,
                      request->logits_from, rows_});
    rows_ += parts_.back().rows;
  }
}

TransformerPass::TransformerPass(const Transformer& model,
                                 TransformerSession& session,
                                 const DeviceRows& rows, std::vector<int> taps,
                                 std::shared_ptr<Workspace> workspace)
    : model_(model),
      architecture_(model.architecture_),
      backend_(*model.backend_),
      parts_{{.session = &session,
              .request = nullptr,
              .rows = rows.rows,
              .taps = std::move(taps),
              .logits_from = rows.logits_from,
              .first_pending = rows.first_pending,
              .length = rows.length,
              .visible = rows.visible,
              .visible_words = rows.visible_words}},
      on_device_(&rows),
      rows_(rows.rows),
      workspace_(std::move(workspace)) {}

absl::StatusOr<std::vector<std::unique_ptr<Scores>>> TransformerPass::Run() {
  BANYAN_RETURN_IF_ERROR(Begin());
  BANYAN_RETURN_IF_ERROR(RunLayers());
  BANYAN_RETURN_IF_ERROR(Head());
  std::vector<std::unique_ptr<Scores>> scores;
  for (const PassPart& part : parts_) scores.push_back(ScoresOf(part));
  return scores;
}

absl::Status TransformerPass::RunOnDevice() {
  BANYAN_RETURN_IF_ERROR(BeginOnDevice());
  BANYAN_RETURN_IF_ERROR(RunLayers());
  return Head();
}

absl::Status TransformerPass::RunLayers() {
  const std::vector<int>& layers = parts_.front().session->layers();
  BANYAN_RETURN_IF_ERROR(Tap(0));
  for (std::size_t place = 0; place < layers.size(); ++place) {
    BANYAN_RETURN_IF_ERROR(RunLayer(place));
    BANYAN_RETURN_IF_ERROR(Tap(layers[place] + 1));
  }
  return absl::OkStatus();
}

std::unique_ptr<Scores> TransformerPass::ScoresOf(const PassPart& part) const {
  const Tensor logits = part.logits_from < part.rows
                            ? logits_.Rows(part.first_row, part.rows)
                            : Tensor{};
  std::vector<Tensor> taps;
  for (int place : part.taps)
    taps.push_back(taps_.at(place).Rows(part.first_row, part.rows));
  return std::make_unique<PassScores>(model_, workspace_, logits,
                                      part.logits_from, std::move(taps));
}

// Room in the caches, tokens, positions, who sees whom, and the embedding.
absl::Status TransformerPass::Begin() {
  std::vector<int> ids;
  std::vector<int> positions;
  std::vector<int> visible;
  for (PassPart& part : parts_) {
    const TokenBatch& batch = *part.request->batch;
    TransformerSession& session = *part.session;
    BANYAN_RETURN_IF_ERROR(session.Reserve(batch.size()));
    ids.insert(ids.end(), batch.tokens.begin(), batch.tokens.end());
    positions.insert(positions.end(), batch.positions.begin(),
                     batch.positions.end());
    part.committed = session.length();
    part.first_pending = session.pending();
    part.pending_slot = session.pending_slot();
    part.visible_words = (part.first_pending + batch.size() + 31) / 32;
    part.visible.offset = visible.size();
    const std::vector<int> bits = session.Visible(batch, part.visible_words);
    part.visible.size = static_cast<int>(bits.size());
    visible.insert(visible.end(), bits.begin(), bits.end());
  }
  BANYAN_ASSIGN_OR_RETURN(Ints bits,
                          workspace_->List(Workspace::kVisible, visible));
  for (PassPart& part : parts_) part.visible.buffer = bits.buffer;

  BANYAN_ASSIGN_OR_RETURN(Ints tokens, workspace_->List(Workspace::kIds, ids));
  BANYAN_RETURN_IF_ERROR(Embed(tokens));
  if (model_.weights_.positions != nullptr) {
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
  BANYAN_RETURN_IF_ERROR(Embed(on_device_->tokens));
  if (model_.weights_.positions != nullptr)
    return backend_.Embed({on_device_->positions,
                           model_.weights_.positions.get(), stream_,
                           /*add=*/true});
  BANYAN_ASSIGN_OR_RETURN(angles_, workspace_->Matrix(Workspace::kAngles, rows_,
                                                      architecture_.head_dim));
  BANYAN_ASSIGN_OR_RETURN(const Weight* angles, model_.Angles());
  return backend_.Embed({on_device_->positions, angles, angles_});
}

// What the rows start from; learned positions and angles aside.
absl::Status TransformerPass::Embed(const Ints& tokens) {
  const int hidden = architecture_.hidden_size;
  BANYAN_ASSIGN_OR_RETURN(
      stream_, workspace_->Matrix(Workspace::kStream, rows_, hidden));
  BANYAN_ASSIGN_OR_RETURN(
      normed_, workspace_->Matrix(Workspace::kNormed, rows_, hidden));
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
  for (const PassPart& part : parts_) {
    if (part.request->vectors.empty()) continue;
    std::vector<float> rows(static_cast<std::size_t>(part.rows) *
                            stream_.stride);
    const auto size = static_cast<std::size_t>(stream_.columns);
    for (std::size_t i = 0; i < static_cast<std::size_t>(part.rows); ++i)
      std::copy_n(
          part.request->vectors.begin() + static_cast<std::ptrdiff_t>(i * size),
          size, &rows[i * stream_.stride]);
    BANYAN_RETURN_IF_ERROR(
        backend_.Upload(AsBytes(absl::MakeSpan(rows)), *stream_.buffer,
                        static_cast<std::size_t>(part.first_row) *
                            stream_.stride * sizeof(float)));
  }
  return absl::OkStatus();
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
    for (std::size_t i = 0; i < positions.size(); ++i) {
      if (positions[i] > 0) continue;
      const std::size_t row = static_cast<std::size_t>(part.first_row) + i;
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

absl::Status TransformerPass::ProjectBeside(const TransformerLayer& layer,
                                            const Tensor& projected) {
  BANYAN_RETURN_IF_ERROR(PutBeside());
  if (architecture_.input.starts_normed)
    BANYAN_RETURN_IF_ERROR(backend_.Copy({VectorSide(), stream_}));
  return backend_.Linear({.x = beside_,
                          .weight = layer.query_key_value.get(),
                          .bias = layer.query_key_value_bias.view(),
                          .y = projected});
}

NormArgs TransformerPass::NormOf(const RowVector& weight,
                                 const RowVector& bias) const {
  return {.x = stream_,
          .weight = weight.view(),
          .bias = bias.view(),
          .epsilon = static_cast<float>(architecture_.norm_epsilon),
          .center = architecture_.norm == Architecture::Norm::kLayer,
          .y = normed_};
}

absl::Status TransformerPass::RunLayer(std::size_t place) {
  const int number = parts_.front().session->layers()[place];
  const TransformerLayer& layer =
      model_.weights_.layers[static_cast<std::size_t>(number)];
  const int queries = architecture_.heads * architecture_.head_dim;
  BANYAN_ASSIGN_OR_RETURN(Tensor projected,
                          workspace_->Matrix(Workspace::kProjected, rows_,
                                             layer.query_key_value->rows()));
  BANYAN_ASSIGN_OR_RETURN(
      Tensor attended,
      workspace_->Matrix(Workspace::kAttended, rows_, queries));
  LinearArgs project = {.x = normed_,
                        .weight = layer.query_key_value.get(),
                        .bias = layer.query_key_value_bias.view(),
                        .y = projected};
  if (number == 0 && architecture_.input.kind == VectorInput::Kind::kBeside) {
    BANYAN_RETURN_IF_ERROR(ProjectBeside(layer, projected));
  } else if (layer.attention_norm.size == 0) {
    project.x = stream_;
    BANYAN_RETURN_IF_ERROR(backend_.Linear(project));
  } else {
    BANYAN_RETURN_IF_ERROR(backend_.NormLinear(
        NormOf(layer.attention_norm, layer.attention_norm_bias), project));
  }
  BANYAN_RETURN_IF_ERROR(Attend(place, projected, attended));
  return FeedForward(layer);
}

absl::Status TransformerPass::Attend(std::size_t place, const Tensor& projected,
                                     const Tensor& attended) {
  const auto number =
      static_cast<std::size_t>(parts_.front().session->layers()[place]);
  const TransformerLayer& layer = model_.weights_.layers[number];
  const LayerSources& facts = architecture_.layers[number];
  const int size = architecture_.head_dim;
  const int queries = architecture_.heads * size;
  const int keys = architecture_.kv_heads * size;
  RotateArgs turn_queries = {
      .x = projected.Columns(0, queries),
      .head_dim = size,
      .angles = angles_,
      .norm_weight = layer.query_norm.view(),
      .epsilon = static_cast<float>(architecture_.head_norm_epsilon),
      .scale = static_cast<float>(facts.attention_scale)};
  RotateArgs turn_keys = turn_queries;
  turn_keys.x = projected.Columns(queries, keys);
  turn_keys.norm_weight = layer.key_norm.view();
  turn_keys.scale = 1;
  std::vector<StoreKvArgs> stores;
  std::vector<AttentionArgs> attentions;
  for (const PassPart& part : parts_) {
    TransformerSession& session = *part.session;
    const Tensor rows = projected.Rows(part.first_row, part.rows);
    stores.push_back({rows.Columns(queries, keys),
                      rows.Columns(queries + keys, keys),
                      &session.pending_cache(place),
                      part.pending_slot + part.first_pending, part.length});
    attentions.push_back({.queries = rows.Columns(0, queries),
                          .heads = architecture_.heads,
                          .prefix = &session.prefix_cache(place),
                          .committed = part.committed,
                          .pending = &session.pending_cache(place),
                          .pending_slot = part.pending_slot,
                          .first_pending = part.first_pending,
                          .visible = part.visible,
                          .visible_words = part.visible_words,
                          .window = facts.window,
                          .y = attended.Rows(part.first_row, part.rows),
                          .length = part.length});
  }
  BANYAN_RETURN_IF_ERROR(backend_.RotateStore(turn_queries, turn_keys, stores));
  return backend_.AttentionLinear(attentions, {.x = attended,
                                               .weight = layer.output.get(),
                                               .bias = layer.output_bias.view(),
                                               .y = stream_,
                                               .add = true});
}

absl::Status TransformerPass::FeedForward(const TransformerLayer& layer) {
  const int inner = architecture_.feed_forward_size;
  BANYAN_ASSIGN_OR_RETURN(
      Tensor both,
      workspace_->Matrix(Workspace::kProjected, rows_, layer.gate_up->rows()));
  BANYAN_RETURN_IF_ERROR(
      backend_.NormLinear(NormOf(layer.mlp_norm, layer.mlp_norm_bias),
                          {.x = normed_,
                           .weight = layer.gate_up.get(),
                           .bias = layer.gate_up_bias.view(),
                           .y = both}));
  const Tensor gate = both.Columns(0, inner);
  const bool gated = both.columns > inner;
  return backend_.ActivateLinear(
      {.function = architecture_.activation == Architecture::Activation::kSilu
                       ? Nonlinearity::kSilu
                       : Nonlinearity::kGeluTanh,
       .x = gate,
       .up = gated ? both.Columns(inner, inner) : Tensor{},
       .y = gate},
      {.x = gate,
       .weight = layer.down.get(),
       .bias = layer.down_bias.view(),
       .y = stream_,
       .add = true});
}

// Layers change the stream in place, so what is wanted of it is copied, on the
// device; whoever wants to read it downloads it from there.
absl::Status TransformerPass::Tap(int place) {
  if (std::none_of(parts_.begin(), parts_.end(), [place](const PassPart& part) {
        return Wants(part, place);
      }))
    return absl::OkStatus();
  BANYAN_ASSIGN_OR_RETURN(
      const Tensor kept,
      workspace_->Kept(taps_.size(), rows_, stream_.columns));
  taps_[place] = kept;
  return backend_.Copy({stream_, kept});
}

// The final norm, and the logits of the parts that want them.
absl::Status TransformerPass::Head() {
  const auto wanted = [](const PassPart& part) {
    return part.logits_from < part.rows || Wants(part, kAfterFinalNorm);
  };
  if (std::none_of(parts_.begin(), parts_.end(), wanted))
    return absl::OkStatus();
  const TransformerWeights& weights = model_.weights_;
  if (weights.final_norm.size == 0)
    normed_ = stream_;
  else
    BANYAN_RETURN_IF_ERROR(
        backend_.Norm(NormOf(weights.final_norm, weights.final_norm_bias)));
  taps_[kAfterFinalNorm] = normed_;  // nothing changes it any more
  BANYAN_ASSIGN_OR_RETURN(
      logits_, workspace_->Matrix(Workspace::kLogits, rows_, model_.logits()));
  // Neighbours that want logits share the reading of the head.
  int first = 0;
  int end = 0;
  const auto multiply = [&] {
    if (end == first) return absl::OkStatus();
    return backend_.Linear({.x = normed_.Rows(first, end - first),
                            .weight = &weights.head(),
                            .bias = {},
                            .y = logits_.Rows(first, end - first)});
  };
  for (const PassPart& part : parts_) {
    if (part.logits_from > 0) {
      BANYAN_RETURN_IF_ERROR(multiply());
      first = part.first_row + part.logits_from;
    }
    end = part.first_row + part.rows;
  }
  return multiply();
}

}  // namespace banyan
