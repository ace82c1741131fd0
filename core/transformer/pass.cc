#include "core/transformer/pass.h"

#include <algorithm>
#include <limits>

#include "absl/algorithm/container.h"
#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/number_rows.h"
#include "core/ops/device_memory.h"
#include "core/transformer/sequence.h"

namespace banyan {

namespace {

absl::Status DownloadRow(DeviceMemory& memory, const Tensor& x, int row,
                         absl::Span<std::byte> to) {
  const std::size_t number =
      x.offset + static_cast<std::size_t>(row) * x.stride;
  return memory.Download(*x.buffer, number * sizeof(float), to);
}

}  // namespace

absl::Status PassScores::Read(int row, std::vector<double>& logits) const {
  if (const OutputTokens& outputs = network_.outputs(); !outputs.all()) {
    std::vector<double> some;
    BANYAN_RETURN_IF_ERROR(ReadSome(row, some));
    logits.assign(static_cast<std::size_t>(vocab_size()),
                  -std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < some.size(); ++i)
      logits[static_cast<std::size_t>(outputs.tokens[i])] = some[i];
    return absl::OkStatus();
  }
  std::vector<float> numbers(static_cast<std::size_t>(network_.logits()));
  BANYAN_RETURN_IF_ERROR(DownloadRow(network_.backend(), Logits(row).row, 0,
                                     AsBytes(absl::MakeSpan(numbers))));
  const int used = network_.options().used_vocab;
  BANYAN_RETURN_IF_ERROR(
      CheckFinite({numbers.data(), static_cast<std::size_t>(used)}));
  logits.assign(numbers.begin(), numbers.end());
  std::fill(logits.begin() + used, logits.end(),
            -std::numeric_limits<double>::infinity());
  return absl::OkStatus();
}

absl::Status PassScores::ReadSome(int row, std::vector<double>& logits) const {
  std::vector<float> numbers(static_cast<std::size_t>(network_.logits()));
  BANYAN_RETURN_IF_ERROR(DownloadRow(network_.backend(), Logits(row).row, 0,
                                     AsBytes(absl::MakeSpan(numbers))));
  std::vector<float> some;
  for (const int column : network_.outputs().columns)
    some.push_back(numbers[static_cast<std::size_t>(column)]);
  BANYAN_RETURN_IF_ERROR(CheckFinite(some, network_.outputs().tokens));
  logits.assign(some.begin(), some.end());
  return absl::OkStatus();
}

absl::StatusOr<Distribution> PassScores::Law(
    int row, const SamplingRule& rule, absl::Span<const TokenId> history,
    absl::Span<const TokenId> path) const {
  if (const OutputTokens& outputs = network_.outputs(); !outputs.all()) {
    std::vector<double> logits;
    BANYAN_RETURN_IF_ERROR(ReadSome(row, logits));
    return rule.ApplyToSome(std::move(logits), outputs.tokens, vocab_size(),
                            history, path);
  }
  return network_.backend().Law({Logits(row), &rule, history, path});
}

absl::StatusOr<std::vector<TokenLogit>> PassScores::Best(int row, int k) const {
  if (!network_.outputs().all()) return Scores::Best(row, k);
  return network_.backend().Best({Logits(row), k});
}

absl::Status PassScores::ReadHidden(int tap, int row,
                                    absl::Span<float> out) const {
  Check(tap >= 0 && static_cast<std::size_t>(tap) < taps_.size() &&
            out.size() == static_cast<std::size_t>(network_.hidden_size()),
        "a hidden state that was not asked for, or of another size");
  BANYAN_RETURN_IF_ERROR(DownloadRow(network_.backend(),
                                     taps_[static_cast<std::size_t>(tap)], row,
                                     AsBytes(out)));
  const std::size_t finite = CountFinite(out);
  if (finite == out.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("number ", finite, " of a hidden state is ", out[finite],
                   ", expected a finite number"));
}

LogitRow PassScores::Logits(int row) const {
  Check(row >= logits_from_ && row < logits_.rows,
        "logits that were not asked for");
  return {logits_.Rows(row, 1), network_.options().used_vocab};
}

namespace {

bool Wants(const PassPart& part, int tap) {
  return absl::c_linear_search(part.taps, tap);
}

}  // namespace

TransformerPass::TransformerPass(const Network& network, PassInput input)
    : network_(network),
      architecture_(network.architecture()),
      backend_(network.backend()),
      split_(network.split()),
      input_(std::move(input)) {}

absl::Status TransformerPass::Run() {
  BANYAN_RETURN_IF_ERROR(RunLayers());
  return Head();
}

absl::Status TransformerPass::RunLayers() {
  BANYAN_ASSIGN_OR_RETURN(
      normed_, input_.workspace->Matrix(Workspace::kNormed, input_.rows,
                                        architecture_.hidden_size));
  BANYAN_ASSIGN_OR_RETURN(
      squares_,
      input_.workspace->Matrix(Workspace::kSquares, input_.rows,
                               SquaresColumns(architecture_.hidden_size)));
  const std::vector<RunLayer>& layers = input_.parts.front().sequence->layers();
  BANYAN_RETURN_IF_ERROR(Tap(static_cast<int>(input_.start)));
  for (std::size_t place = input_.start; place < input_.end; ++place) {
    BANYAN_RETURN_IF_ERROR(RunBlocks(place));
    BANYAN_RETURN_IF_ERROR(Tap(layers[place].layer + 1));
  }
  return Keep();
}

// The streams that views keep.
absl::Status TransformerPass::Keep() {
  for (const PassPart& part : input_.parts) {
    if (part.on_device || input_.end < part.sequence->layers().size()) continue;
    const Tensor kept = part.sequence->KeptRows(part.rows);
    if (!kept.empty())
      BANYAN_RETURN_IF_ERROR(
          backend_.Copy({input_.stream.Rows(part.first_row, part.rows), kept}));
  }
  return absl::OkStatus();
}

std::vector<Tensor> TransformerPass::LogitsByPart() const {
  std::vector<Tensor> logits;
  for (const PassPart& part : input_.parts)
    logits.push_back(logits_.Rows(part.first_row + part.logits_from,
                                  part.rows - part.logits_from));
  return logits;
}

std::unique_ptr<Scores> TransformerPass::ScoresOf(const PassPart& part) const {
  const Tensor logits = part.logits_from < part.rows
                            ? logits_.Rows(part.first_row, part.rows)
                            : Tensor{};
  std::vector<Tensor> taps;
  for (int place : part.taps) taps.push_back(States(part, place));
  return std::make_unique<PassScores>(network_, input_.workspace, logits,
                                      part.logits_from, std::move(taps));
}

NormArgs TransformerPass::Normed(const RowVector& weight,
                                 const RowVector& bias) const {
  NormArgs norm = NormOf(architecture_, input_.stream, weight, bias, normed_);
  if (squares_fresh_) norm.squares = squares_;
  return norm;
}

absl::Status TransformerPass::RunBlocks(std::size_t place) {
  const RunLayer& run = input_.parts.front().sequence->layers()[place];
  const TransformerLayer& layer =
      *network_.weights().layers[static_cast<std::size_t>(run.layer)];
  if (run.attention) BANYAN_RETURN_IF_ERROR(RunAttention(place));
  return run.feed_forward ? FeedForward(layer) : absl::OkStatus();
}

absl::Status TransformerPass::RunAttention(std::size_t place) {
  const int number = input_.parts.front().sequence->layers()[place].layer;
  const TransformerLayer& layer =
      *network_.weights().layers[static_cast<std::size_t>(number)];
  BANYAN_ASSIGN_OR_RETURN(
      Tensor attended,
      input_.workspace->Matrix(Workspace::kAttended, input_.rows,
                               split_.queries().size()));
  if (split_.heads() == 0) {
    for (const PassPart& part : input_.parts)
      BANYAN_RETURN_IF_ERROR(part.sequence->SeePrefix(place, {}));
    return AddToStream({.x = attended,
                        .weight = layer.output.get(),
                        .bias = layer.output_bias.view()},
                       split_.queries());
  }
  BANYAN_ASSIGN_OR_RETURN(
      Tensor projected,
      input_.workspace->Matrix(Workspace::kProjected, input_.rows,
                               layer.query_key_value->rows()));
  return Attend(place, projected, attended);
}

// Queries, keys and values of the rows, which `then` turns and stores.
absl::Status TransformerPass::Project(std::size_t place,
                                      const Tensor& projected,
                                      const RotateStoreArgs& then) {
  const int number = input_.parts.front().sequence->layers()[place].layer;
  const TransformerLayer& layer =
      *network_.weights().layers[static_cast<std::size_t>(number)];
  LinearArgs project = {.x = normed_,
                        .weight = layer.query_key_value.get(),
                        .bias = layer.query_key_value_bias.view(),
                        .y = projected,
                        .then = then};
  if (number == 0 && architecture_.input.kind == VectorInput::Kind::kBeside) {
    BANYAN_RETURN_IF_ERROR(PutBeside(network_, input_.stream, input_.beside));
    squares_fresh_ = false;
    if (architecture_.input.starts_normed)
      BANYAN_RETURN_IF_ERROR(backend_.Copy(
          {VectorSide(architecture_, input_.beside), input_.stream}));
    project.x = input_.beside;
  } else if (layer.attention_norm.size == 0) {
    project.x = input_.stream;
  } else {
    project.source = Normed(layer.attention_norm, layer.attention_norm_bias);
  }
  return backend_.Linear(project);
}

absl::Status TransformerPass::Attend(std::size_t place, const Tensor& projected,
                                     const Tensor& attended) {
  const auto number = static_cast<std::size_t>(
      input_.parts.front().sequence->layers()[place].layer);
  const TransformerLayer& layer = *network_.weights().layers[number];
  const LayerSources& facts = architecture_.layers[number];
  const int size = architecture_.head_dim;
  const int queries = split_.heads() * size;
  const int keys = split_.kv_heads() * size;
  RotateArgs turn_queries = {
      .x = projected.Columns(0, queries),
      .head_dim = size,
      .angles = input_.angles,
      .norm_weight = layer.query_norm.view(),
      .epsilon = static_cast<float>(architecture_.head_norm_epsilon),
      .scale = static_cast<float>(facts.attention_scale)};
  RotateArgs turn_keys = turn_queries;
  turn_keys.x = projected.Columns(queries, keys);
  turn_keys.norm_weight = layer.key_norm.view();
  turn_keys.scale = 1;
  std::vector<StoreKvArgs> stores;
  std::vector<AttentionArgs> attentions;
  const int first_query = split_.mine(split_.queries()).first;
  for (const PassPart& part : input_.parts) {
    TransformerSequence& sequence = *part.sequence;
    const Tensor rows = projected.Rows(part.first_row, part.rows);
    stores.push_back({rows.Columns(queries, keys),
                      rows.Columns(queries + keys, keys),
                      &sequence.pending_cache(place),
                      part.pending_slot + part.first_pending, part.length});
    attentions.push_back({.queries = rows.Columns(0, queries),
                          .heads = split_.heads(),
                          .prefix = &sequence.prefix_cache(place),
                          .committed = part.committed,
                          .pending = &sequence.pending_cache(place),
                          .pending_slot = part.pending_slot,
                          .first_pending = part.first_pending,
                          .visible = part.visible,
                          .visible_words = part.visible_words,
                          .window = facts.window,
                          .y = attended.Rows(part.first_row, part.rows)
                                   .Columns(first_query, queries),
                          .length = part.length,
                          .is_chain = part.is_chain});
  }
  BANYAN_RETURN_IF_ERROR(
      Project(place, projected, {turn_queries, turn_keys, stores}));
  for (const PassPart& part : input_.parts)
    BANYAN_RETURN_IF_ERROR(part.sequence->SeePrefix(
        place, turn_queries.x.Rows(part.first_row, 1)));
  return AddToStream({.x = attended,
                      .weight = layer.output.get(),
                      .bias = layer.output_bias.view(),
                      .source = absl::MakeConstSpan(attentions)},
                     split_.queries());
}

absl::Status TransformerPass::AddToStream(LinearArgs product,
                                          const Partition& parts) {
  product.y = input_.stream;
  product.add = true;
  if (split_.whole()) {
    product.squares = squares_;
    BANYAN_RETURN_IF_ERROR(backend_.Linear(product));
    squares_fresh_ = true;
    return absl::OkStatus();
  }
  BANYAN_RETURN_IF_ERROR(MakeRows(backend_, product.source));
  product.source = {};
  BANYAN_RETURN_IF_ERROR(split_.Gather(product.x, parts, backend_));
  if (product.weight != nullptr) {
    const Stretch mine = split_.mine(split_.hidden());
    product.y = input_.stream.Columns(mine.first, mine.count);
    BANYAN_RETURN_IF_ERROR(backend_.Linear(product));
  }
  return split_.Gather(input_.stream, split_.hidden(), backend_);
}

absl::Status TransformerPass::FeedForward(const TransformerLayer& layer) {
  const Stretch inner = split_.mine(split_.inner());
  LinearArgs down = {.weight = layer.down.get(),
                     .bias = layer.down_bias.view()};
  if (!split_.whole()) {
    BANYAN_ASSIGN_OR_RETURN(
        down.x, input_.workspace->Matrix(Workspace::kActivated, input_.rows,
                                         split_.inner().size()));
    if (inner.count == 0) return AddToStream(down, split_.inner());
  }
  BANYAN_ASSIGN_OR_RETURN(
      Tensor both, input_.workspace->Matrix(Workspace::kProjected, input_.rows,
                                            layer.gate_up->rows()));
  const Tensor gate = both.Columns(0, inner.count);
  const bool gated = both.columns > inner.count;
  if (split_.whole()) down.x = gate;
  BANYAN_RETURN_IF_ERROR(backend_.Linear(
      {.x = normed_,
       .weight = layer.gate_up.get(),
       .bias = layer.gate_up_bias.view(),
       .y = both,
       .source = Normed(layer.mlp_norm, layer.mlp_norm_bias),
       .then = ActivateArgs{
           .function =
               architecture_.activation == Architecture::Activation::kSilu
                   ? Nonlinearity::kSilu
                   : Nonlinearity::kGeluTanh,
           .x = gate,
           .up = gated ? both.Columns(inner.count, inner.count) : Tensor{},
           .y = down.x.Columns(split_.whole() ? 0 : inner.first,
                               inner.count)}}));
  return AddToStream(down, split_.inner());
}

// Layers change the stream in place, so what is wanted of it is copied, on the
// device; whoever wants to read it downloads it from there.
absl::Status TransformerPass::Tap(int place) {
  if (std::none_of(
          input_.parts.begin(), input_.parts.end(),
          [place](const PassPart& part) { return Wants(part, place); }))
    return absl::OkStatus();
  BANYAN_ASSIGN_OR_RETURN(
      const Tensor kept,
      input_.workspace->Kept(taps_.size(), input_.rows, input_.stream.columns));
  taps_[place] = kept;
  return backend_.Copy({input_.stream, kept});
}

// The final norm, and the logits of the parts that want them.
absl::Status TransformerPass::Head() {
  const auto wanted = [](const PassPart& part) {
    return part.logits_from < part.rows || Wants(part, kAfterFinalNorm);
  };
  if (std::none_of(input_.parts.begin(), input_.parts.end(), wanted))
    return absl::OkStatus();
  const TransformerWeights& weights = network_.weights();
  if (weights.final_norm.size == 0)
    normed_ = input_.stream;
  else
    BANYAN_RETURN_IF_ERROR(
        backend_.Norm(Normed(weights.final_norm, weights.final_norm_bias)));
  taps_[kAfterFinalNorm] = normed_;  // nothing changes it any more
  BANYAN_ASSIGN_OR_RETURN(
      logits_, input_.workspace->Matrix(Workspace::kLogits, input_.rows,
                                        network_.logits()));
  // Neighbours that want logits share the reading of the head.
  int first = 0;
  int end = 0;
  const auto multiply = [&]() -> absl::Status {
    if (end == first) return absl::OkStatus();
    const Tensor y = logits_.Rows(first, end - first);
    const Partition parts = split_.Logits(network_.logits());
    const Stretch mine = split_.mine(parts);
    if (mine.count > 0)
      BANYAN_RETURN_IF_ERROR(
          backend_.Linear({.x = normed_.Rows(first, end - first),
                           .weight = network_.head_part(),
                           .bias = {},
                           .y = y.Columns(mine.first, mine.count)}));
    return split_.Gather(y, parts, backend_);
  };
  for (const PassPart& part : input_.parts) {
    if (part.logits_from > 0) {
      BANYAN_RETURN_IF_ERROR(multiply());
      first = part.first_row + part.logits_from;
    }
    end = part.first_row + part.rows;
  }
  return multiply();
}

}  // namespace banyan
