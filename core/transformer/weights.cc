#include "core/transformer/weights.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/checkpoint/weight_rows.h"
#include "core/ops/device_memory.h"
#include "core/pack/pack_file.h"

namespace banyan {
namespace {

// Rows or numbers, of those that stand one below the other; all if it is empty.
using Stretches = std::vector<Stretch>;

int CountOf(const Stretches& stretches) {
  int count = 0;
  for (const Stretch& stretch : stretches) count += stretch.count;
  return count;
}

class Loader {
 public:
  Loader(const Checkpoint& checkpoint, Backend& backend,
         const WeightStream* stream = nullptr)
      : checkpoint_(checkpoint), backend_(backend), stream_(stream) {}

  // The sources that are there, one below the other; null if none is. `part`
  // names rows of them.
  absl::Status Read(const MatrixSources& sources, WeightFormat format,
                    std::unique_ptr<Weight>& out, const Stretches& part = {},
                    RowPairs pairs = {}) const {
    format = checkpoint_.MatrixFormat(sources, format);
    const PackMatrix* const packed = checkpoint_.FindPacked(sources);
    if (packed != nullptr && packed->format == format && !part.empty()) {
      if (IsQuantised(format))
        return absl::InvalidArgumentError(absl::StrCat(
            checkpoint_.directory(), ": several ranks read no packed ",
            Name(format),
            " weights; expected the model that it was packed from"));
    } else if (packed != nullptr && packed->format == format) {
      if (stream_ != nullptr && stream_->Streams(*packed))
        return Stream(*packed, out);
      const absl::Status adopted = Adopt(*packed, out);
      // A device of another packing reads the rows, which are the same numbers
      // in all formats that do not quantise.
      if (!absl::IsUnimplemented(adopted) || IsQuantised(format))
        return adopted;
    }
    int rows = 0;
    const WeightSource* first = nullptr;
    for (const WeightSource* source : sources) {
      if (!source->present()) continue;
      rows += source->rows;
      if (first == nullptr) first = source;
    }
    if (first == nullptr) return absl::OkStatus();
    if (IsFourBits(format) && checkpoint_.KeepsBlocks(sources, format)) {
      if (!part.empty())
        return NoFourBits(absl::StrCat(checkpoint_.directory(),
                                       ": a model of several ranks"));
      const auto panels = [&](std::size_t from, absl::Span<std::byte> to) {
        return checkpoint_.MakePanels(sources, format, from, to);
      };
      auto adopted = backend_.Adopt(format, rows, first->columns, panels);
      if (absl::IsUnimplemented(adopted.status()))
        return NoFourBits(backend_.description());
      BANYAN_ASSIGN_OR_RETURN(out, std::move(adopted));
      rows = 0;
    } else if (!part.empty()) {
      rows = CountOf(part);
    }
    if (rows > 0) {
      BANYAN_ASSIGN_OR_RETURN(
          out, backend_.PackPaired(format, rows, first->columns, pairs,
                                   [&](int row, int count, float* to) {
                                     return ReadRows(sources,
                                                     {row, count, format}, part,
                                                     first->columns, to);
                                   }));
    }
    for (const WeightSource* source : sources)
      if (source->present()) checkpoint_.Release(*source);
    return absl::OkStatus();
  }

  // Rows of `part`.
  absl::Status ReadRows(const MatrixSources& sources, const RowRange& rows,
                        const Stretches& part, int columns, float* to) const {
    if (part.empty()) return checkpoint_.ReadStacked(sources, rows, to);
    int before = 0;  // rows of earlier stretches
    for (const Stretch& stretch : part) {
      const int first = std::max(rows.first, before);
      const int end = std::min(rows.first + rows.count, before + stretch.count);
      if (first < end) {
        BANYAN_RETURN_IF_ERROR(checkpoint_.ReadStacked(
            sources, {stretch.first + first - before, end - first, rows.format},
            to));
        to += std::ptrdiff_t{end - first} * columns;
      }
      before += stretch.count;
    }
    return absl::OkStatus();
  }

  // A matrix that is packed already.
  absl::Status Stream(const PackMatrix& packed,
                      std::unique_ptr<Weight>& out) const {
    BANYAN_ASSIGN_OR_RETURN(
        out, backend_.Stream(packed.format, packed.rows, packed.columns,
                             stream_->PanelsOf(packed)));
    return absl::OkStatus();
  }
  absl::Status Adopt(const PackMatrix& packed,
                     std::unique_ptr<Weight>& out) const {
    BANYAN_ASSIGN_OR_RETURN(
        out, backend_.Adopt(packed.format, packed.rows, packed.columns,
                            [&](std::size_t first, absl::Span<std::byte> to) {
                              Check(first == 0, "all panels at once");
                              return checkpoint_.ReadPanels(packed, to);
                            }));
    return absl::OkStatus();
  }

  // The sources one after the other, zeros for those that are not there; empty
  // if none is. `part` names numbers of them.
  absl::Status Read(const MatrixSources& sources, const std::vector<int>& sizes,
                    RowVector& out, const Stretches& part = {}) const {
    std::vector<float> numbers;
    bool present = false;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const std::size_t at = numbers.size();
      numbers.resize(at + static_cast<std::size_t>(sizes[i]));
      if (!sources[i]->present()) continue;
      present = true;
      BANYAN_RETURN_IF_ERROR(
          checkpoint_.ReadRows(*sources[i], {0, sources[i]->rows},
                               absl::MakeSpan(numbers).subspan(at)));
    }
    if (!present) return absl::OkStatus();
    if (!part.empty()) {
      std::vector<float> some;
      for (const Stretch& stretch : part)
        some.insert(some.end(), numbers.begin() + stretch.first,
                    numbers.begin() + stretch.first + stretch.count);
      numbers = std::move(some);
    }
    if (numbers.empty()) return absl::OkStatus();
    out.size = static_cast<int>(numbers.size());
    numbers.resize(static_cast<std::size_t>(PadToLane(out.size)));
    const absl::Span<const std::byte> bytes(
        reinterpret_cast<const std::byte*>(numbers.data()),
        numbers.size() * sizeof(float));
    BANYAN_ASSIGN_OR_RETURN(out.buffer, backend_.Allocate(bytes.size()));
    return backend_.Upload(bytes, *out.buffer, 0);
  }
  absl::Status Read(const WeightSource& source, RowVector& out,
                    const Stretches& part = {}) const {
    return Read({&source}, {source.rows}, out, part);
  }

 private:
  const Checkpoint& checkpoint_;
  Backend& backend_;
  const WeightStream* stream_;
};

absl::StatusOr<TransformerLayer> ReadLayer(const Loader& loader,
                                           const Architecture& architecture,
                                           const LayerSources& from,
                                           WeightFormat format,
                                           const ModelSplit& split) {
  TransformerLayer layer;
  const int queries = architecture.heads * architecture.head_dim;
  const int keys = architecture.kv_heads * architecture.head_dim;
  const int inner = architecture.feed_forward_size;
  Stretches query_key_value, hidden, gate_up;
  if (!split.whole()) {
    const Stretch query = split.mine(split.queries());
    const Stretch key =
        split.mine(split.key_heads().Widened(architecture.head_dim));
    const Stretch up = split.mine(split.inner());
    query_key_value = {query,
                       {queries + key.first, key.count},
                       {queries + keys + key.first, key.count}};
    hidden = {split.mine(split.hidden())};
    gate_up = {up};
    if (from.gate.present()) gate_up.push_back({inner + up.first, up.count});
  }
  // What the pass does with the products' numbers.
  RowPairs turned, gated;
  if (architecture.rope.has_value() && !from.query_norm.present() &&
      architecture.head_dim % 4 == 0) {
    turned.distance = architecture.head_dim / 2;
    turned.pairs = (split.heads() + split.kv_heads()) * turned.distance;
  }
  if (from.gate.present())
    gated.pairs = gated.distance = split.mine(split.inner()).count;
  const LayerMatrices matrices(from);
  BANYAN_RETURN_IF_ERROR(
      loader.Read(from.attention_norm, layer.attention_norm));
  BANYAN_RETURN_IF_ERROR(
      loader.Read(from.attention_norm_bias, layer.attention_norm_bias));
  BANYAN_RETURN_IF_ERROR(loader.Read(matrices.query_key_value, format,
                                     layer.query_key_value, query_key_value,
                                     turned));
  BANYAN_RETURN_IF_ERROR(loader.Read(
      {&from.query_bias, &from.key_bias, &from.value_bias},
      {queries, keys, keys}, layer.query_key_value_bias, query_key_value));
  BANYAN_RETURN_IF_ERROR(loader.Read(from.query_norm, layer.query_norm));
  BANYAN_RETURN_IF_ERROR(loader.Read(from.key_norm, layer.key_norm));
  BANYAN_RETURN_IF_ERROR(
      loader.Read(matrices.output, format, layer.output, hidden));
  BANYAN_RETURN_IF_ERROR(
      loader.Read(from.output_bias, layer.output_bias, hidden));
  BANYAN_RETURN_IF_ERROR(loader.Read(from.mlp_norm, layer.mlp_norm));
  BANYAN_RETURN_IF_ERROR(loader.Read(from.mlp_norm_bias, layer.mlp_norm_bias));
  BANYAN_RETURN_IF_ERROR(
      loader.Read(matrices.gate_up, format, layer.gate_up, gate_up, gated));
  if (from.gate.present()) {
    BANYAN_RETURN_IF_ERROR(loader.Read({&from.gate_bias, &from.up_bias},
                                       {inner, inner}, layer.gate_up_bias,
                                       gate_up));
  } else {
    BANYAN_RETURN_IF_ERROR(
        loader.Read(from.up_bias, layer.gate_up_bias, gate_up));
  }
  BANYAN_RETURN_IF_ERROR(
      loader.Read(matrices.down, format, layer.down, hidden));
  BANYAN_RETURN_IF_ERROR(loader.Read(from.down_bias, layer.down_bias, hidden));
  return layer;
}

}  // namespace

std::vector<const Weight*> TransformerWeights::matrices() const {
  std::vector<const Weight*> matrices;
  if (fuse) matrices.push_back(fuse.get());
  for (const std::shared_ptr<const TransformerLayer>& layer : layers)
    for (const Weight* weight :
         {layer->query_key_value.get(), layer->output.get(),
          layer->gate_up.get(), layer->down.get()})
      if (weight != nullptr) matrices.push_back(weight);
  return matrices;
}

std::vector<KeptMatrix> TransformerWeights::kept() const {
  std::vector<KeptMatrix> kept;
  const auto add = [&](absl::string_view name, const auto& weight) {
    if (weight != nullptr)
      kept.push_back({std::string(name), weight->format()});
  };
  add("embedding", embedding);
  add("positions", positions);
  add("fuse", fuse);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string layer = absl::StrCat("layers.", i, ".");
    add(layer + "query_key_value", layers[i]->query_key_value);
    add(layer + "output", layers[i]->output);
    add(layer + "gate_up", layers[i]->gate_up);
    add(layer + "down", layers[i]->down);
  }
  add("head", own_head);
  return kept;
}

double TransformerWeights::layer_numbers() const {
  double numbers = 0;
  for (const Weight* weight : matrices())
    numbers += double{1} * weight->rows() * weight->columns();
  return numbers;
}

std::size_t TransformerWeights::layer_bytes() const {
  std::size_t bytes = 0;
  for (const Weight* weight : matrices()) bytes += weight->bytes();
  return bytes;
}

std::size_t TransformerWeights::total_bytes() const {
  return layer_bytes() + embedding->bytes() +
         (own_head ? own_head->bytes() : 0) +
         (positions ? positions->bytes() : 0);
}

absl::StatusOr<std::shared_ptr<const Weight>> RowsOf(
    const Weight& matrix, const std::vector<int>& rows, Backend& backend) {
  constexpr int kAtOnce = 1024;  // rows that are read from the device
  const auto columns = static_cast<std::size_t>(matrix.columns());
  std::vector<float> numbers;
  int read = 0;  // rows before those in `numbers`
  const auto source = [&](int first, int count, float* out) -> absl::Status {
    for (int row = first; row < first + count; ++row) {
      const auto have = static_cast<int>(numbers.size() / columns);
      if (row >= read + have) {
        read = row;
        const int some = std::min(kAtOnce, static_cast<int>(rows.size()) - row);
        const auto bytes = static_cast<std::size_t>(some) * sizeof(int);
        BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<Buffer> ids,
                                backend.Allocate(bytes));
        BANYAN_RETURN_IF_ERROR(
            backend.Upload({reinterpret_cast<const std::byte*>(
                                &rows[static_cast<std::size_t>(row)]),
                            bytes},
                           *ids, 0));
        BANYAN_ASSIGN_OR_RETURN(
            const OwnedTensor y,
            OwnedTensor::New(some, matrix.columns(), backend));
        BANYAN_RETURN_IF_ERROR(
            backend.Embed({{ids.get(), 0, some}, &matrix, y.view}));
        BANYAN_RETURN_IF_ERROR(y.Download(numbers, backend));
      }
      std::copy_n(
          numbers.begin() + static_cast<std::ptrdiff_t>(
                                static_cast<std::size_t>(row - read) * columns),
          columns, out);
      out += columns;
    }
    return absl::OkStatus();
  };
  BANYAN_ASSIGN_OR_RETURN(
      std::unique_ptr<Weight> packed,
      backend.Pack(
          IsFourBits(matrix.format()) ? WeightFormat::kQ8 : matrix.format(),
          static_cast<int>(rows.size()), matrix.columns(), source));
  return std::shared_ptr<const Weight>(std::move(packed));
}

std::size_t WeightBytes(const Architecture& architecture, WeightFormat format) {
  std::size_t bytes = 0;
  ForEachSource(architecture, [&](const WeightSource& source) {
    if (&source == &architecture.head && architecture.tied_head) return;
    const bool is_matrix =
        source.columns > 1 && &source != &architecture.positions;
    bytes += PackedBytes(is_matrix ? format : WeightFormat::kF32, source.rows,
                         source.columns);
  });
  return bytes;
}

absl::StatusOr<std::unique_ptr<Weight>> LoadMatrix(const Checkpoint& checkpoint,
                                                   const WeightSource& source,
                                                   WeightFormat format,
                                                   Backend& backend) {
  std::unique_ptr<Weight> weight;
  BANYAN_RETURN_IF_ERROR(
      Loader(checkpoint, backend).Read({&source}, format, weight));
  return weight;
}

absl::StatusOr<RowVector> LoadVector(const Checkpoint& checkpoint,
                                     const WeightSource& source,
                                     Backend& backend) {
  RowVector row;
  BANYAN_RETURN_IF_ERROR(Loader(checkpoint, backend).Read(source, row));
  return row;
}

absl::StatusOr<TransformerWeights> LoadTransformerWeights(
    const Checkpoint& checkpoint, WeightFormat format, Backend& backend,
    const ModelSplit& split, const BorrowedWeights& borrowed,
    const WeightStream* stream, const ResidentWeights* resident) {
  const Architecture& architecture = checkpoint.architecture();
  const Loader loader(checkpoint, backend, stream);
  TransformerWeights weights;
  BANYAN_RETURN_IF_ERROR(checkpoint.CheckTied());
  std::unique_ptr<Weight> own;
  if (resident != nullptr) {
    weights.embedding = resident->weights.embedding;
  } else {
    BANYAN_RETURN_IF_ERROR(loader.Read({&architecture.embedding}, format, own));
    weights.embedding = own ? std::move(own) : borrowed.embedding;
  }
  const VectorInput& input = architecture.input;
  BANYAN_RETURN_IF_ERROR(loader.Read({&input.fuse}, format, weights.fuse));
  BANYAN_RETURN_IF_ERROR(loader.Read(input.fuse_bias, weights.fuse_bias));
  BANYAN_RETURN_IF_ERROR(loader.Read(input.token_norm, weights.token_norm));
  BANYAN_RETURN_IF_ERROR(loader.Read(input.vector_norm, weights.vector_norm));
  BANYAN_RETURN_IF_ERROR(loader.Read({&architecture.positions},
                                     WeightFormat::kF32, weights.positions));
  for (std::size_t i = 0; i < architecture.layers.size(); ++i) {
    if (resident != nullptr && resident->stream.KeepsLayer(i)) {
      weights.layers.push_back(resident->weights.layers[i]);
      continue;
    }
    BANYAN_ASSIGN_OR_RETURN(
        TransformerLayer layer,
        ReadLayer(loader, architecture, architecture.layers[i], format, split));
    weights.layers.push_back(
        std::make_shared<const TransformerLayer>(std::move(layer)));
  }
  BANYAN_RETURN_IF_ERROR(
      loader.Read(architecture.final_norm, weights.final_norm));
  BANYAN_RETURN_IF_ERROR(
      loader.Read(architecture.final_norm_bias, weights.final_norm_bias));
  if (resident != nullptr) {
    weights.own_head = resident->weights.own_head;
  } else if (!architecture.tied_head) {
    BANYAN_RETURN_IF_ERROR(loader.Read({&architecture.head}, format, own));
    weights.own_head = own ? std::move(own) : borrowed.head;
  }
  return weights;
}

}  // namespace banyan
