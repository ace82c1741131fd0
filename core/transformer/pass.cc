#include "core/transformer/pass.h"

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
#include "core/transformer/pass_scores.h"
#include "core/transformer/session.h"
#include "core/transformer/transformer.h"
#include "core/transformer/weights.h"
#include "core/transformer/workspace.h"

namespace banyan {
namespace {

bool Wants(const PassPart& part, int tap) {
  return absl::c_linear_search(part.taps, tap);
}

TransformerSession& SessionOf(const ScoreRequest& request) {
  return *static_cast<TransformerSession*>(request.session);
}

std::vector<PassPart> PartsOf(absl::Span<const ScoreRequest* const> requests) {
  std::vector<PassPart> parts;
  for (const ScoreRequest* request : requests)
    parts.push_back({.session = &SessionOf(*request),
                     .request = request,
                     .rows = request->batch->size(),
                     .taps = request->taps,
                     .logits_from = request->logits_from});
  return parts;
}

}  // namespace

std::size_t StartOf(const ScoreRequest& request) {
  if (request.done.view == nullptr) return 0;
  const std::size_t start =
      static_cast<const TransformerSession*>(request.done.view)
          ->layers()
          .size();
  const bool taps_before = absl::c_any_of(request.taps, [start](int tap) {
    return tap != kAfterFinalNorm && tap < static_cast<int>(start);
  });
  return taps_before ? 0 : start;
}

TransformerPass::TransformerPass(const Transformer& model,
                                 absl::Span<const ScoreRequest* const> requests)
    : TransformerPass(model, PartsOf(requests),
                      SessionOf(*requests.front()).layers().size()) {}

TransformerPass::TransformerPass(const Transformer& model,
                                 std::vector<PassPart> parts, std::size_t end)
    : model_(model),
      architecture_(model.architecture_),
      backend_(*model.backend_),
      parts_(std::move(parts)),
      end_(end) {
  std::shared_ptr<Workspaces> pool = model.workspaces_;
  workspace_ = {pool->Take(backend_).release(), [pool](Workspace* workspace) {
                  pool->Return(std::unique_ptr<Workspace>(workspace));
                }};
  for (PassPart& part : parts_) {
    part.first_row = rows_;
    rows_ += part.rows;
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
      end_(session.layers().size()),
      on_device_(&rows),
      rows_(rows.rows),
      workspace_(std::move(workspace)) {}

absl::StatusOr<std::vector<std::unique_ptr<Scores>>> TransformerPass::Run() {
  const std::size_t start = StartOf(*parts_.front().request);
  BANYAN_RETURN_IF_ERROR(Begin(/*embeds=*/start == 0));
  if (start > 0) BANYAN_RETURN_IF_ERROR(GoOn(start));
  BANYAN_RETURN_IF_ERROR(RunLayers(start));
  BANYAN_RETURN_IF_ERROR(Head());
  std::vector<std::unique_ptr<Scores>> scores;
  for (const PassPart& part : parts_) scores.push_back(ScoresOf(part));
  return scores;
}

absl::Status TransformerPass::RunOnDevice() {
  BANYAN_RETURN_IF_ERROR(BeginOnDevice());
  BANYAN_RETURN_IF_ERROR(RunLayers(0));
  return Head();
}

absl::Status TransformerPass::RunLayers(std::size_t start) {
  const std::vector<RunLayer>& layers = parts_.front().session->layers();
  if (start == 0) BANYAN_RETURN_IF_ERROR(Tap(0));
  for (std::size_t place = start; place < end_; ++place) {
    BANYAN_RETURN_IF_ERROR(RunBlocks(place));
    BANYAN_RETURN_IF_ERROR(Tap(layers[place].layer + 1));
  }
  return Keep();
}

absl::Status TransformerPass::Keep() {
  for (const PassPart& part : parts_) {
    if (part.request == nullptr || end_ < part.session->layers().size())
      continue;
    const Tensor kept = part.session->KeptRows(part.rows);
    if (!kept.empty())
      BANYAN_RETURN_IF_ERROR(
          backend_.Copy({stream_.Rows(part.first_row, part.rows), kept}));
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

absl::Status TransformerPass::RunBlocks(std::size_t place) {
  const RunLayer& run = parts_.front().session->layers()[place];
  const TransformerLayer& layer =
      model_.weights_.layers[static_cast<std::size_t>(run.layer)];
  if (run.attention) BANYAN_RETURN_IF_ERROR(RunAttention(place));
  return run.feed_forward ? FeedForward(layer) : absl::OkStatus();
}

absl::Status TransformerPass::RunAttention(std::size_t place) {
  const int number = parts_.front().session->layers()[place].layer;
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
  return Attend(place, projected, attended);
}

absl::Status TransformerPass::Attend(std::size_t place, const Tensor& projected,
                                     const Tensor& attended) {
  const auto number =
      static_cast<std::size_t>(parts_.front().session->layers()[place].layer);
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
  for (const PassPart& part : parts_)
    BANYAN_RETURN_IF_ERROR(
        part.session->SeePrefix(place, turn_queries.x.Rows(part.first_row, 1)));
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
