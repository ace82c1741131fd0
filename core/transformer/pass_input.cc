// What the rows of a pass start from.
#include "core/transformer/pass_input.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/checkpoint/architecture.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/norm.h"
#include "core/ops/round_tables.h"
#include "core/ops/tensor.h"
#include "core/transformer/pass.h"
#include "core/transformer/session.h"
#include "core/transformer/transformer.h"
#include "core/transformer/weights.h"
#include "core/transformer/workspace.h"

namespace banyan {
namespace {

// Neighbouring rows of a request's batch.
struct Run {
  const ScoreRequest* request;
  int from = 0;
  int rows = 0;
};

TransformerSession& SessionOf(const ScoreRequest& request) {
  return *static_cast<TransformerSession*>(request.session);
}

const TransformerSession& ViewOf(const ScoreRequest& request) {
  return static_cast<const TransformerSession&>(*request.done.view);
}

std::vector<Run> WholeBatches(absl::Span<const ScoreRequest* const> requests) {
  std::vector<Run> runs;
  for (const ScoreRequest* request : requests)
    runs.push_back({request, 0, request->batch->size()});
  return runs;
}

// The request's rows that no view has computed.
std::vector<Run> RunsLeft(const ScoreRequest& request) {
  std::vector<Run> runs;
  const std::vector<int>& done = request.done.rows;
  for (int row = 0; row < request.batch->size(); ++row) {
    if (done[static_cast<std::size_t>(row)] >= 0) continue;
    if (runs.empty() || runs.back().from + runs.back().rows < row)
      runs.push_back({&request, row, 0});
    ++runs.back().rows;
  }
  return runs;
}

absl::Span<std::byte> AsBytes(absl::Span<float> numbers) {
  return {reinterpret_cast<std::byte*>(numbers.data()),
          numbers.size() * sizeof(float)};
}

Tensor TokenSide(const Architecture& architecture, const Tensor& beside) {
  const int hidden = architecture.hidden_size;
  return beside.Columns(architecture.input.vector_first ? hidden : 0, hidden);
}

bool LearnsPositions(const Transformer& model) {
  return model.weights().positions != nullptr;
}

absl::Status MakeStream(const Transformer& model, PassInput& input) {
  BANYAN_ASSIGN_OR_RETURN(
      input.stream, input.workspace->Matrix(Workspace::kStream, input.rows,
                                            model.hidden_size()));
  return absl::OkStatus();
}

absl::Status MakeAngles(const Transformer& model, PassInput& input) {
  BANYAN_ASSIGN_OR_RETURN(
      input.angles, input.workspace->Matrix(Workspace::kAngles, input.rows,
                                            model.architecture().head_dim));
  return absl::OkStatus();
}

// What a kind of input does in its own way: puts the vectors that are given
// into the stream, and zeroes the embeddings of the texts' first tokens.
struct OwnWays {
  absl::FunctionRef<absl::Status()> put_vectors;
  absl::FunctionRef<absl::Status(const Tensor& embedded)> hide_first_tokens;
};

// Tokens and vectors, side by side.
absl::Status EmbedBeside(const Transformer& model, const Ints& tokens,
                         const OwnWays& own, PassInput& input) {
  const VectorInput& kind = model.architecture().input;
  const TransformerWeights& weights = model.weights();
  Backend& backend = model.backend();
  BANYAN_ASSIGN_OR_RETURN(
      input.beside, input.workspace->Matrix(Workspace::kBeside, input.rows,
                                            2 * model.hidden_size()));
  const Tensor embedded = TokenSide(model.architecture(), input.beside);
  BANYAN_RETURN_IF_ERROR(
      backend.Embed({tokens, weights.embedding.get(), embedded}));
  if (kind.hides_first_token)
    BANYAN_RETURN_IF_ERROR(own.hide_first_tokens(embedded));
  if (weights.token_norm.size > 0)
    BANYAN_RETURN_IF_ERROR(backend.Norm(NormOf(
        model.architecture(), embedded, weights.token_norm, {}, embedded)));
  BANYAN_RETURN_IF_ERROR(own.put_vectors());
  if (kind.kind == VectorInput::Kind::kBeside) return absl::OkStatus();
  BANYAN_RETURN_IF_ERROR(PutBeside(model, input.stream, input.beside));
  return backend.Linear({.x = input.beside,
                         .weight = weights.fuse.get(),
                         .bias = weights.fuse_bias.view(),
                         .y = input.stream});
}

// What the rows start from, angles aside.
absl::Status Embed(const Transformer& model, const Ints& tokens,
                   const Ints& positions, const OwnWays& own,
                   PassInput& input) {
  Backend& backend = model.backend();
  if (model.architecture().input.kind != VectorInput::Kind::kNone) {
    BANYAN_RETURN_IF_ERROR(EmbedBeside(model, tokens, own, input));
  } else {
    BANYAN_RETURN_IF_ERROR(
        backend.Embed({tokens, model.weights().embedding.get(), input.stream}));
    BANYAN_RETURN_IF_ERROR(own.put_vectors());
  }
  if (!LearnsPositions(model)) return absl::OkStatus();
  return backend.Embed(
      {positions, model.weights().positions.get(), input.stream, /*add=*/true});
}

class BatchInput {
 public:
  // Of layers up to `end`. With `scores`, runs are whole batches, whose taps
  // and logits are wanted.
  BatchInput(const Transformer& model, std::vector<Run> runs, std::size_t end,
             bool scores)
      : model_(model), backend_(model.backend()), runs_(std::move(runs)) {
    input_.workspace = model.TakeWorkspace();
    for (const Run& run : runs_) {
      input_.parts.push_back(
          {.session = &SessionOf(*run.request),
           .rows = run.rows,
           .taps = scores ? run.request->taps : std::vector<int>(),
           .logits_from = scores ? run.request->logits_from : run.rows,
           .first_row = input_.rows});
      input_.rows += run.rows;
    }
    input_.end = end;
  }

  absl::Status Make() {
    BANYAN_RETURN_IF_ERROR(Place());
    std::vector<int> tokens;
    for (const Run& run : runs_) Add(run, run.request->batch->tokens, tokens);
    BANYAN_ASSIGN_OR_RETURN(const Ints ids,
                            workspace().List(Workspace::kIds, tokens));
    Ints places;
    if (LearnsPositions(model_)) {
      BANYAN_ASSIGN_OR_RETURN(
          places, workspace().List(Workspace::kPositions, positions_));
    }
    return Embed(
        model_, ids, places,
        {[this] { return PutVectors(); },
         [this](const Tensor& embedded) { return HideFirstTokens(embedded); }},
        input_);
  }

  PassInput Take() && { return std::move(input_); }

  // Requires runs that are whole batches.
  absl::Status MakeFromViews(std::size_t start) {
    BANYAN_RETURN_IF_ERROR(Place());
    input_.start = start;
    for (std::size_t i = 0; i < runs_.size(); ++i)
      BANYAN_RETURN_IF_ERROR(TakeKeys(*runs_[i].request, input_.parts[i]));
    std::vector<int> others(static_cast<std::size_t>(input_.rows), -1);
    BANYAN_ASSIGN_OR_RETURN(const Tensor computed, RunOthers(others));
    if (!computed.empty()) {
      BANYAN_ASSIGN_OR_RETURN(const Ints rows,
                              workspace().List(Workspace::kIds, others));
      BANYAN_RETURN_IF_ERROR(backend_.Copy({computed, input_.stream, rows}));
    }
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const ScoreRequest& request = *runs_[i].request;
      const PassPart& part = input_.parts[i];
      BANYAN_ASSIGN_OR_RETURN(
          const Ints rows,
          workspace().List(Workspace::kIds, request.done.rows));
      BANYAN_RETURN_IF_ERROR(
          backend_.Copy({ViewOf(request).kept_rows(),
                         input_.stream.Rows(part.first_row, part.rows), rows}));
    }
    return absl::OkStatus();
  }

 private:
  // The run's part of a list with `width` numbers a row.
  static void Add(const Run& run, const std::vector<int>& from,
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
  absl::Status PutVectors(const Run& run, const PassPart& part);
  absl::Status HideFirstTokens(const Tensor& embedded);
  absl::Status TakeKeys(const ScoreRequest& request, const PassPart& part);
  absl::StatusOr<Tensor> RunOthers(std::vector<int>& computed_as);

  const Transformer& model_;
  Backend& backend_;
  PassInput input_;
  std::vector<Run> runs_;  // by part
  std::vector<int> positions_;
};

// Makes room in the caches and for the stream, and uploads who sees whom and
// the angles.
absl::Status BatchInput::Place() {
  std::vector<int> visible;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const Run& run = runs_[i];
    PassPart& part = input_.parts[i];
    const TokenBatch& batch = *run.request->batch;
    TransformerSession& session = *part.session;
    BANYAN_RETURN_IF_ERROR(session.Reserve(batch.size()));
    Add(run, batch.positions, positions_);
    part.committed = session.prefix_slots();
    part.first_pending = session.pending() + run.from;
    part.pending_slot = session.pending_slot();
    part.visible_words = (session.pending() + batch.size() + 31) / 32;
    part.visible.offset = visible.size();
    part.visible.size = part.rows * part.visible_words;
    Add(run, session.Visible(batch, part.visible_words), visible,
        part.visible_words);
  }
  BANYAN_ASSIGN_OR_RETURN(const Ints bits,
                          workspace().List(Workspace::kVisible, visible));
  for (PassPart& part : input_.parts) part.visible.buffer = bits.buffer;
  BANYAN_RETURN_IF_ERROR(MakeStream(model_, input_));
  if (LearnsPositions(model_)) return absl::OkStatus();
  BANYAN_RETURN_IF_ERROR(MakeAngles(model_, input_));
  const Tensor& to = input_.angles;
  std::vector<float> angles(static_cast<std::size_t>(to.rows) * to.stride);
  for (std::size_t i = 0; i < positions_.size(); ++i)
    model_.rotation().Write(positions_[i], &angles[i * to.stride]);
  return backend_.Upload(AsBytes(absl::MakeSpan(angles)), *to.buffer, 0);
}

absl::Status BatchInput::PutVectors(const Run& of, const PassPart& part) {
  const ScoreRequest& request = *of.request;
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

// What a view has of a part's keys and values, in the caches of its session.
absl::Status BatchInput::TakeKeys(const ScoreRequest& request,
                                  const PassPart& part) {
  const std::vector<int>& done = request.done.rows;
  auto& view = static_cast<TransformerSession&>(*request.done.view);
  for (std::size_t first = 0; first < done.size();) {
    std::size_t end = first;
    while (end < done.size() && done[end] >= 0) ++end;
    const std::vector<int> slots(
        done.begin() + static_cast<std::ptrdiff_t>(first),
        done.begin() + static_cast<std::ptrdiff_t>(end));
    for (std::size_t place = 0; !slots.empty() && place < input_.start; ++place)
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

// Runs the first layers of the rows that no view has computed; `computed_as`
// says for each row of ours which of them it is.
absl::StatusOr<Tensor> BatchInput::RunOthers(std::vector<int>& computed_as) {
  std::vector<Run> left;
  int count = 0;
  for (std::size_t i = 0; i < runs_.size(); ++i)
    for (const Run& run : RunsLeft(*runs_[i].request)) {
      const int first = input_.parts[i].first_row + run.from;
      for (int row = 0; row < run.rows; ++row)
        computed_as[static_cast<std::size_t>(first + row)] = count++;
      left.push_back(run);
    }
  if (left.empty()) return Tensor{};
  BatchInput others(model_, std::move(left), input_.start, /*scores=*/false);
  BANYAN_RETURN_IF_ERROR(others.Make());
  TransformerPass first(model_, std::move(others).Take());
  BANYAN_RETURN_IF_ERROR(first.RunLayers());
  input_.others = first.input().workspace;  // until this pass is through
  return first.input().stream;
}

std::size_t EndOf(absl::Span<const ScoreRequest* const> requests) {
  return SessionOf(*requests.front()).layers().size();
}

}  // namespace

std::size_t StartOf(const ScoreRequest& request) {
  if (request.done.view == nullptr) return 0;
  const std::size_t start = ViewOf(request).layers().size();
  const bool taps_before = absl::c_any_of(request.taps, [start](int tap) {
    return tap != kAfterFinalNorm && tap < static_cast<int>(start);
  });
  return taps_before ? 0 : start;
}

absl::StatusOr<PassInput> InputOfBatch(
    const Transformer& model, absl::Span<const ScoreRequest* const> requests) {
  BatchInput input(model, WholeBatches(requests), EndOf(requests),
                   /*scores=*/true);
  BANYAN_RETURN_IF_ERROR(input.Make());
  return std::move(input).Take();
}

absl::StatusOr<PassInput> InputFromViews(
    const Transformer& model, absl::Span<const ScoreRequest* const> requests) {
  BatchInput input(model, WholeBatches(requests), EndOf(requests),
                   /*scores=*/true);
  BANYAN_RETURN_IF_ERROR(input.MakeFromViews(StartOf(*requests.front())));
  return std::move(input).Take();
}

absl::StatusOr<PassInput> InputOnDevice(const Transformer& model,
                                        TransformerSession& session,
                                        const DeviceRows& rows,
                                        std::vector<int> taps,
                                        std::shared_ptr<Workspace> workspace) {
  PassInput input = {.parts = {{.session = &session,
                                .rows = rows.rows,
                                .taps = std::move(taps),
                                .logits_from = rows.logits_from,
                                .on_device = true,
                                .first_pending = rows.first_pending,
                                .length = rows.length,
                                .visible = rows.visible,
                                .visible_words = rows.visible_words}},
                     .rows = rows.rows,
                     .end = session.layers().size(),
                     .workspace = std::move(workspace)};
  Backend& backend = model.backend();
  const auto put_vectors = [&] {
    return rows.vectors.empty() ? absl::OkStatus()
                                : backend.Copy({rows.vectors, input.stream});
  };
  // A text's first pair is the host's.
  const auto hides_nothing = [](const Tensor& /*embedded*/) {
    return absl::OkStatus();
  };
  BANYAN_RETURN_IF_ERROR(MakeStream(model, input));
  BANYAN_RETURN_IF_ERROR(Embed(model, rows.tokens, rows.positions,
                               {put_vectors, hides_nothing}, input));
  if (LearnsPositions(model)) return input;
  BANYAN_RETURN_IF_ERROR(MakeAngles(model, input));
  BANYAN_ASSIGN_OR_RETURN(const Tensor angles, model.Angles());
  BANYAN_RETURN_IF_ERROR(
      backend.Copy({.x = angles, .y = input.angles, .rows = rows.positions}));
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

absl::Status PutBeside(const Transformer& model, const Tensor& stream,
                       const Tensor& beside) {
  const Architecture& architecture = model.architecture();
  const RowVector& norm = model.weights().vector_norm;
  const Tensor to = VectorSide(architecture, beside);
  if (norm.size == 0) return model.backend().Copy({stream, to});
  return model.backend().Norm(NormOf(architecture, stream, norm, {}, to));
}

}  // namespace banyan
