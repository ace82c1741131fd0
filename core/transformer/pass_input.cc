// What the rows of a pass start from.
#include "core/transformer/pass_input.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "core/base/bytes.h"
#include "core/base/token.h"
#include "core/ops/backend.h"

namespace banyan {
namespace {

Tensor TokenSide(const Architecture& architecture, const Tensor& beside) {
  const int hidden = architecture.hidden_size;
  return beside.Columns(architecture.input.vector_first ? hidden : 0, hidden);
}

bool LearnsPositions(const Network& network) {
  return network.weights().positions != nullptr;
}

absl::Status MakeStream(const Network& network, PassInput& input) {
  BANYAN_ASSIGN_OR_RETURN(
      input.stream, input.workspace->Matrix(Workspace::kStream, input.rows,
                                            network.hidden_size()));
  return absl::OkStatus();
}

absl::Status MakeAngles(const Network& network, PassInput& input) {
  BANYAN_ASSIGN_OR_RETURN(
      input.angles, input.workspace->Matrix(Workspace::kAngles, input.rows,
                                            network.architecture().head_dim));
  return absl::OkStatus();
}

// What a kind of input does in its own way.
struct OwnWays {
  // Writes the rows of a table that the tokens or the positions name, or adds
  // them.
  absl::FunctionRef<absl::Status(const Tensor& to)> put_tokens;
  absl::FunctionRef<absl::Status(const Tensor& to)> add_positions;
  // Puts the vectors that are given into the stream.
  absl::FunctionRef<absl::Status()> put_vectors;
  // Zeroes the embeddings of the texts' first tokens.
  absl::FunctionRef<absl::Status(const Tensor& embedded)> hide_first_tokens;
};

// Tokens and vectors, side by side.
absl::Status EmbedBeside(const Network& network, const OwnWays& own,
                         PassInput& input) {
  const VectorInput& kind = network.architecture().input;
  const TransformerWeights& weights = network.weights();
  Backend& backend = network.backend();
  BANYAN_ASSIGN_OR_RETURN(
      input.beside, input.workspace->Matrix(Workspace::kBeside, input.rows,
                                            2 * network.hidden_size()));
  const Tensor embedded = TokenSide(network.architecture(), input.beside);
  BANYAN_RETURN_IF_ERROR(own.put_tokens(embedded));
  if (kind.hides_first_token)
    BANYAN_RETURN_IF_ERROR(own.hide_first_tokens(embedded));
  if (weights.token_norm.size > 0)
    BANYAN_RETURN_IF_ERROR(backend.Norm(NormOf(
        network.architecture(), embedded, weights.token_norm, {}, embedded)));
  BANYAN_RETURN_IF_ERROR(own.put_vectors());
  if (kind.kind == VectorInput::Kind::kBeside) return absl::OkStatus();
  BANYAN_RETURN_IF_ERROR(PutBeside(network, input.stream, input.beside));
  return backend.Linear({.x = input.beside,
                         .weight = weights.fuse.get(),
                         .bias = weights.fuse_bias.view(),
                         .y = input.stream});
}

// What the rows start from, angles aside.
absl::Status Embed(const Network& network, const OwnWays& own,
                   PassInput& input) {
  if (network.architecture().input.kind != VectorInput::Kind::kNone) {
    BANYAN_RETURN_IF_ERROR(EmbedBeside(network, own, input));
  } else {
    BANYAN_RETURN_IF_ERROR(own.put_tokens(input.stream));
    BANYAN_RETURN_IF_ERROR(own.put_vectors());
  }
  return LearnsPositions(network) ? own.add_positions(input.stream)
                                  : absl::OkStatus();
}

class BatchInput {
 public:
  BatchInput(const Network& network, std::vector<BatchRun> runs,
             const BatchPassOptions& options)
      : network_(network), backend_(network.backend()), runs_(std::move(runs)) {
    input_.workspace = network.TakeWorkspace();
    for (const BatchRun& run : runs_) {
      const ScoreRequest& request = *run.request->of;
      input_.parts.push_back(
          {.sequence = run.request->sequence,
           .rows = run.rows,
           .taps = options.scores ? request.taps : std::vector<int>(),
           .logits_from = options.scores ? request.logits_from : run.rows,
           .first_row = input_.rows});
      input_.rows += run.rows;
    }
    input_.end = options.end;
  }

  absl::Status Make(bool embeds) {
    BANYAN_RETURN_IF_ERROR(Place());
    if (!embeds) return absl::OkStatus();
    std::vector<int> tokens;
    for (const BatchRun& run : runs_)
      Add(run, run.request->of->batch->tokens, tokens);
    BANYAN_ASSIGN_OR_RETURN(const Ints ids,
                            workspace().List(Workspace::kIds, tokens));
    Ints places;
    if (LearnsPositions(network_)) {
      BANYAN_ASSIGN_OR_RETURN(
          places, workspace().List(Workspace::kPositions, positions_));
    }
    const TransformerWeights& weights = network_.weights();
    return Embed(
        network_,
        {[&](const Tensor& to) {
           return backend_.Embed({ids, weights.embedding.get(), to});
         },
         [&](const Tensor& to) {
           return backend_.Embed({places, weights.positions.get(), to, true});
         },
         [this] { return PutVectors(); },
         [this](const Tensor& embedded) { return HideFirstTokens(embedded); }},
        input_);
  }

  PassInput Take() && { return std::move(input_); }

 private:
  // The run's part of a list with `width` numbers a row.
  static void Add(const BatchRun& run, const std::vector<int>& from,
                  std::vector<int>& to, int width = 1) {
    const auto first = from.begin() + std::ptrdiff_t{run.from} * width;
    to.insert(to.end(), first, first + std::ptrdiff_t{run.rows} * width);
  }

  Workspace& workspace() { return *input_.workspace; }
  absl::Status Place();
  absl::Status PutVectors() {
    for (std::size_t i = 0; i < runs_.size(); ++i)
      BANYAN_RETURN_IF_ERROR(PutVectors(runs_[i], input_.parts[i]));
    return absl::OkStatus();
  }
  absl::Status PutVectors(const BatchRun& run, const PassPart& part);
  absl::Status HideFirstTokens(const Tensor& embedded);

  const Network& network_;
  Backend& backend_;
  PassInput input_;
  std::vector<BatchRun> runs_;  // by part
  std::vector<int> positions_;
};

// Makes room in the caches and for the stream, and uploads who sees whom and
// the angles.
absl::Status BatchInput::Place() {
  std::vector<int> visible;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const BatchRun& run = runs_[i];
    PassPart& part = input_.parts[i];
    const TokenBatch& batch = *run.request->of->batch;
    TransformerSequence& sequence = *part.sequence;
    BANYAN_RETURN_IF_ERROR(sequence.Reserve(batch.size()));
    Add(run, batch.positions, positions_);
    part.committed = sequence.prefix_slots();
    part.first_pending = sequence.pending() + run.from;
    part.pending_slot = sequence.pending_slot();
    part.visible_words = (sequence.pending() + batch.size() + 31) / 32;
    part.is_chain = sequence.pending() == 0 && batch.IsChain();
    part.visible.offset = visible.size();
    part.visible.size = part.rows * part.visible_words;
    Add(run, sequence.Visible(batch, part.visible_words), visible,
        part.visible_words);
  }
  BANYAN_ASSIGN_OR_RETURN(const Ints bits,
                          workspace().List(Workspace::kVisible, visible));
  for (PassPart& part : input_.parts) part.visible.buffer = bits.buffer;
  BANYAN_RETURN_IF_ERROR(MakeStream(network_, input_));
  if (LearnsPositions(network_)) return absl::OkStatus();
  BANYAN_RETURN_IF_ERROR(MakeAngles(network_, input_));
  const Tensor& to = input_.angles;
  std::vector<float> angles(static_cast<std::size_t>(to.rows) * to.stride);
  for (std::size_t i = 0; i < positions_.size(); ++i)
    network_.rotation().Write(positions_[i], &angles[i * to.stride]);
  return backend_.Upload(AsBytes(absl::MakeSpan(angles)), *to.buffer, 0);
}

absl::Status BatchInput::PutVectors(const BatchRun& of, const PassPart& part) {
  const ScoreRequest& request = *of.request->of;
  const Tensor& stream = input_.stream;
  const auto size = static_cast<std::size_t>(stream.columns);
  std::vector<float> run;  // of neighbours, which are written together
  int first = 0;
  const auto write = [&] {
    if (run.empty()) return absl::OkStatus();
    const auto row = static_cast<std::size_t>(part.first_row + first);
    return backend_.Upload(AsBytes(absl::MakeSpan(run)), *stream.buffer,
                           row * stream.stride * sizeof(float));
  };
  for (std::size_t i = 0; i * size < request.vectors.size(); ++i) {
    const int row = (request.vector_rows.empty() ? static_cast<int>(i)
                                                 : request.vector_rows[i]) -
                    of.from;
    if (row < 0 || row >= part.rows) continue;
    if (row != first + static_cast<int>(run.size() / stream.stride)) {
      BANYAN_RETURN_IF_ERROR(write());
      run.clear();
      first = row;
    }
    const std::size_t at = run.size();
    run.resize(at + stream.stride);
    absl::c_copy(request.vectors.subspan(i * size, size),
                 run.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return write();
}

absl::Status BatchInput::HideFirstTokens(const Tensor& embedded) {
  std::vector<float> zeros(static_cast<std::size_t>(embedded.columns));
  for (std::size_t i = 0; i < positions_.size(); ++i)
    if (positions_[i] <= 0)
      BANYAN_RETURN_IF_ERROR(backend_.Upload(
          AsBytes(absl::MakeSpan(zeros)), *embedded.buffer,
          (embedded.offset + i * embedded.stride) * sizeof(float)));
  return absl::OkStatus();
}

}  // namespace

std::vector<BatchRun> WholeBatches(
    absl::Span<const SequenceRequest* const> requests) {
  std::vector<BatchRun> runs;
  for (const SequenceRequest* request : requests)
    runs.push_back({request, 0, request->of->batch->size()});
  return runs;
}

absl::StatusOr<PassInput> InputOfRuns(const Network& network,
                                      std::vector<BatchRun> runs,
                                      const BatchPassOptions& options) {
  BatchInput input(network, std::move(runs), options);
  BANYAN_RETURN_IF_ERROR(input.Make(options.embeds));
  return std::move(input).Take();
}

absl::StatusOr<PassInput> InputOnDevice(const Network& network,
                                        absl::Span<const DevicePart> parts,
                                        const std::vector<int>& taps,
                                        std::shared_ptr<Workspace> workspace) {
  PassInput input = {.end = parts.front().sequence->layers().size(),
                     .workspace = std::move(workspace)};
  for (const DevicePart& part : parts) {
    input.parts.push_back({.sequence = part.sequence,
                           .rows = part.rows.rows,
                           .taps = taps,
                           .logits_from = part.rows.logits_from,
                           .on_device = true,
                           .first_row = input.rows,
                           .first_pending = part.rows.first_pending,
                           .length = part.rows.length,
                           .visible = part.rows.visible,
                           .visible_words = part.rows.visible_words});
    input.rows += part.rows.rows;
  }
  Backend& backend = network.backend();
  const TransformerWeights& weights = network.weights();
  // A part's rows of a matrix, one part after another.
  const auto by_part = [&](const Tensor& of, const auto& what) -> absl::Status {
    for (std::size_t i = 0; i < parts.size(); ++i)
      BANYAN_RETURN_IF_ERROR(
          what(parts[i].rows,
               of.Rows(input.parts[i].first_row, parts[i].rows.rows)));
    return absl::OkStatus();
  };
  const auto put_tokens = [&](const Tensor& to) {
    return by_part(to, [&](const DeviceRows& rows, const Tensor& own) {
      return backend.Embed({rows.tokens, weights.embedding.get(), own});
    });
  };
  const auto add_positions = [&](const Tensor& to) {
    return by_part(to, [&](const DeviceRows& rows, const Tensor& own) {
      return backend.Embed(
          {rows.positions, weights.positions.get(), own, true});
    });
  };
  const auto put_vectors = [&] {
    return by_part(
        input.stream, [&](const DeviceRows& rows, const Tensor& own) {
          return rows.vectors.empty() ? absl::OkStatus()
                                      : backend.Copy({rows.vectors, own});
        });
  };
  // A text's first pair is the host's.
  const auto hides_nothing = [](const Tensor& /*embedded*/) {
    return absl::OkStatus();
  };
  BANYAN_RETURN_IF_ERROR(MakeStream(network, input));
  BANYAN_RETURN_IF_ERROR(Embed(
      network, {put_tokens, add_positions, put_vectors, hides_nothing}, input));
  if (LearnsPositions(network)) return input;
  BANYAN_RETURN_IF_ERROR(MakeAngles(network, input));
  BANYAN_ASSIGN_OR_RETURN(const Tensor angles, network.Angles());
  BANYAN_RETURN_IF_ERROR(
      by_part(input.angles, [&](const DeviceRows& rows, const Tensor& own) {
        return backend.Copy({.x = angles, .y = own, .rows = rows.positions});
      }));
  return input;
}

NormArgs NormOf(const Architecture& architecture, const Tensor& x,
                const RowVector& weight, const RowVector& bias,
                const Tensor& y) {
  return {.x = x,
          .weight = weight.view(),
          .bias = bias.view(),
          .epsilon = static_cast<float>(architecture.norm_epsilon),
          .center = architecture.norm == Architecture::Norm::kLayer,
          .y = y};
}

Tensor VectorSide(const Architecture& architecture, const Tensor& beside) {
  const int hidden = architecture.hidden_size;
  return beside.Columns(architecture.input.vector_first ? 0 : hidden, hidden);
}

absl::Status PutBeside(const Network& network, const Tensor& stream,
                       const Tensor& beside) {
  const Architecture& architecture = network.architecture();
  const RowVector& norm = network.weights().vector_norm;
  const Tensor to = VectorSide(architecture, beside);
  if (norm.size == 0) return network.backend().Copy({stream, to});
  return network.backend().Norm(NormOf(architecture, stream, norm, {}, to));
}

}  // namespace banyan
