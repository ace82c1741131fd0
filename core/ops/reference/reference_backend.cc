#include "core/ops/reference/reference_backend.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/base/weight_format.h"
#include "core/ops/device_ops.h"
#include "core/ops/host/host.h"
#include "core/ops/host/host_weight.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"

namespace banyan {
namespace {

using host::Row;

// 1 / sqrt(mean((x - mean)^2) + epsilon)
double InverseRoot(const float* x, int size, double mean, double epsilon) {
  double squares = 0;
  for (int i = 0; i < size; ++i) squares += (x[i] - mean) * (x[i] - mean);
  return 1 / std::sqrt(squares / size + epsilon);
}

// Row of activations against row of a quantised weight, as LinearArgs says.
double QuantProduct(const float* x, const std::vector<float>& weight) {
  double sum = 0;
  const int columns = static_cast<int>(weight.size());
  for (int begin = 0; begin < columns; begin += kQ8Block) {
    const int end = std::min(begin + kQ8Block, columns);
    float largest = 0;
    for (int k = begin; k < end; ++k)
      largest = std::max(largest, std::fabs(x[k]));
    const float inverse = largest >= kQ8Least ? 127.0F / largest : 0.0F;
    double products = 0;
    for (int k = begin; k < end; ++k)
      products += double{std::nearbyint(x[k] * inverse)} *
                  weight[static_cast<std::size_t>(k)];
    sum += products * (largest / 127.0F);
  }
  return sum;
}

// The slots that row `row` sees, by position.
struct Seen {
  const KvCache* cache;
  int slot;
};
std::vector<Seen> SeenSlots(const AttentionArgs& args, int row) {
  std::vector<Seen> slots;
  for (int slot = 0; slot < args.committed; ++slot)
    slots.push_back({args.prefix, slot});
  const std::int32_t* bits = host::Data(args.visible) +
                             static_cast<std::size_t>(row) *
                                 static_cast<std::size_t>(args.visible_words);
  for (int j = 0; j <= args.first_pending + row; ++j)
    if ((static_cast<std::uint32_t>(bits[j / 32]) >> (j % 32) & 1) != 0)
      slots.push_back({args.pending, args.pending_slot + j});
  const auto window = static_cast<std::size_t>(args.window);
  if (window > 0 && slots.size() > window)
    slots.erase(slots.begin(), slots.end() - args.window);
  return slots;
}

// NaN where it is not finite: of -infinity exp would make 0.
double Score(const float* query, const KvCache& cache, int head, int slot) {
  const float* key = host::KvView(cache).Key(head, slot);
  double score = 0;
  for (int d = 0; d < cache.head_dim; ++d)
    score += double{query[d]} * key[d * kLane];
  return std::isfinite(score) ? score : std::nan("");
}

// Turns scores into p, and returns their sum.
double Softmax(std::vector<double>& p) {
  const double largest = *std::max_element(p.begin(), p.end());
  double total = 0;
  for (double& score : p) total += score = std::exp(score - largest);
  return total;
}

void Attend(const AttentionArgs& args) {
  const int size = args.pending->head_dim;
  const int group = args.heads / args.pending->kv_heads;
  for (int row = 0; row < args.queries.rows; ++row) {
    const std::vector<Seen> slots = SeenSlots(args, row);
    for (int head = 0; head < args.heads; ++head) {
      const float* query = Row(args.queries, row) + head * size;
      std::vector<double> p;
      for (const Seen& seen : slots)
        p.push_back(Score(query, *seen.cache, head / group, seen.slot));
      const double total = Softmax(p);
      for (int d = 0; d < size; ++d) {
        double sum = 0;
        for (std::size_t j = 0; j < slots.size(); ++j)
          sum += p[j] * host::KvView(*slots[j].cache)
                            .Value(head / group, slots[j].slot)[d];
        Row(args.y, row)[head * size + d] = static_cast<float>(sum / total);
      }
    }
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Buffer>> ReferenceBackend::Allocate(
    std::size_t bytes) {
  return host::Allocate(bytes);
}

absl::Status ReferenceBackend::Upload(absl::Span<const std::byte> from,
                                      Buffer& to, std::size_t offset) {
  return host::Upload(from, to, offset);
}

absl::Status ReferenceBackend::Download(const Buffer& from, std::size_t offset,
                                        absl::Span<std::byte> to) {
  return host::Download(from, offset, to);
}

absl::StatusOr<std::unique_ptr<Weight>> ReferenceBackend::Pack(
    WeightFormat format, int rows, int columns, WeightRows source) {
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Weight> weight,
                          HostWeight::Pack(format, rows, columns, source));
  return weight;
}

absl::StatusOr<std::unique_ptr<Weight>> ReferenceBackend::Adopt(
    WeightFormat format, int rows, int columns, PanelSource source) {
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Weight> weight,
                          HostWeight::Adopt(format, rows, columns, source));
  return weight;
}

absl::StatusOr<std::unique_ptr<Weight>> ReferenceBackend::Part(
    const Weight& whole, int first, int count) {
  return HostWeight::Part(static_cast<const HostWeight&>(whole), first, count);
}

absl::Status ReferenceBackend::ReserveKv(KvCache& cache, int slots, int used) {
  return host::ReserveKv(cache, slots, used);
}

absl::Status ReferenceBackend::Copy(const CopyArgs& args) {
  return host::Copy(args);
}

absl::Status ReferenceBackend::StoreKv(
    absl::Span<const StoreKvArgs> sequences) {
  for (const StoreKvArgs& args : sequences)
    for (int head = 0; head < args.cache->kv_heads; ++head)
      host::StoreKvHead(args, head);
  return absl::OkStatus();
}

absl::Status ReferenceBackend::MoveKv(const MoveKvArgs& args) {
  host::CheckMove(args);
  for (int head = 0; head < args.cache->kv_heads; ++head)
    host::MoveKvHead(args, head, 0, static_cast<int>(args.slots.size()));
  return absl::OkStatus();
}

absl::StatusOr<Distribution> ReferenceBackend::Law(const LawArgs& args) {
  return host::Law(args);
}

absl::StatusOr<std::vector<TokenLogit>> ReferenceBackend::Best(
    const BestArgs& args) {
  BANYAN_ASSIGN_OR_RETURN(const std::vector<double> logits,
                          host::Logits(args.logits));
  return BestLogits(logits, args.k);
}

absl::Status ReferenceBackend::Embed(const EmbedArgs& args) {
  const auto& table = static_cast<const HostWeight&>(*args.table);
  std::vector<float> row(static_cast<std::size_t>(table.columns()));
  for (int i = 0; i < args.y.rows; ++i) {
    table.ReadRow(host::Data(args.ids)[i], row.data());
    float* y = Row(args.y, i);
    for (std::size_t k = 0; k < row.size(); ++k)
      y[k] = args.add ? y[k] + row[k] : row[k];
  }
  return absl::OkStatus();
}

absl::Status ReferenceBackend::Norm(const NormArgs& args) {
  const int size = args.x.columns;
  for (int row = 0; row < args.x.rows; ++row) {
    const float* x = Row(args.x, row);
    float* y = Row(args.y, row);
    double mean = 0;
    for (int i = 0; args.center && i < size; ++i) mean += x[i];
    mean /= size;
    const double scale = InverseRoot(x, size, mean, args.epsilon);
    for (int i = 0; i < size; ++i) {
      const double bias = args.bias.empty() ? 0.0 : Row(args.bias, 0)[i];
      y[i] = static_cast<float>((x[i] - mean) * scale * Row(args.weight, 0)[i] +
                                bias);
    }
  }
  return absl::OkStatus();
}

absl::Status ReferenceBackend::Linear(const LinearArgs& args) {
  BANYAN_RETURN_IF_ERROR(MakeRows(*this, args.source));
  const auto& weight = static_cast<const HostWeight&>(*args.weight);
  std::vector<float> w(static_cast<std::size_t>(weight.columns()));
  for (int j = 0; j < weight.rows(); ++j) {
    weight.ReadRow(j, w.data());
    for (int i = 0; i < args.x.rows; ++i) {
      const float* x = Row(args.x, i);
      float& y = Row(args.y, i)[j];
      double sum = 0;
      if (IsQuantised(weight.format()))
        sum = QuantProduct(x, w);
      else
        for (std::size_t k = 0; k < w.size(); ++k) sum += double{x[k]} * w[k];
      if (!args.bias.empty()) sum += Row(args.bias, 0)[j];
      if (args.add) sum += y;
      y = static_cast<float>(sum);
    }
  }
  return DoNext(*this, args.then);
}

absl::Status ReferenceBackend::Rotate(const RotateArgs& args) {
  const int half = args.head_dim / 2;
  for (int row = 0; row < args.x.rows; ++row) {
    for (int at = 0; at < args.x.columns; at += args.head_dim) {
      float* head = Row(args.x, row) + at;
      std::vector<double> x(head, head + args.head_dim);
      if (!args.norm_weight.empty()) {
        const double scale = InverseRoot(head, args.head_dim, 0, args.epsilon);
        for (std::size_t i = 0; i < x.size(); ++i)
          x[i] *= scale * Row(args.norm_weight, 0)[i];
      }
      if (!args.angles.empty()) {
        const float* angles = Row(args.angles, row);
        for (int i = 0; i < half; ++i) {
          double& a = x[static_cast<std::size_t>(i)];
          double& b = x[static_cast<std::size_t>(i + half)];
          const double turned = a * angles[i] - b * angles[i + half];
          b = b * angles[i] + a * angles[i + half];
          a = turned;
        }
      }
      for (std::size_t i = 0; i < x.size(); ++i)
        head[i] = static_cast<float>(x[i] * args.scale);
    }
  }
  return absl::OkStatus();
}

absl::Status ReferenceBackend::Activate(const ActivateArgs& args) {
  constexpr double kRootTwoOverPi = 0.7978845608028654;
  for (int row = 0; row < args.x.rows; ++row) {
    for (int i = 0; i < args.x.columns; ++i) {
      const double x = Row(args.x, row)[i];
      double y = args.function == Nonlinearity::kSilu
                     ? x / (1 + std::exp(-x))
                     : x / 2 *
                           (1 + std::tanh(kRootTwoOverPi *
                                          (x + 0.044715 * x * x * x)));
      if (!args.up.empty()) y *= Row(args.up, row)[i];
      if (args.add) y += Row(args.y, row)[i];
      Row(args.y, row)[i] = static_cast<float>(y);
    }
  }
  return absl::OkStatus();
}

absl::Status ReferenceBackend::Attention(
    absl::Span<const AttentionArgs> sequences) {
  for (const AttentionArgs& args : sequences) Attend(host::Settled(args));
  return absl::OkStatus();
}

absl::Status ReferenceBackend::AttentionMass(const AttentionMassArgs& args) {
  host::CheckMass(args);
  const int size = args.prefix->head_dim;
  const int kv_heads = args.prefix->kv_heads;
  const int group = args.heads / kv_heads;
  for (int row = 0; row < args.y.rows; ++row) {
    const int kv_head = row % kv_heads;
    std::vector<double> mass(static_cast<std::size_t>(args.y.columns));
    for (int i = 0; i < group; ++i) {
      const float* query =
          Row(args.queries, row / kv_heads) + (kv_head * group + i) * size;
      std::vector<double> p;
      for (int slot = 0; slot < args.committed; ++slot)
        p.push_back(Score(query, *args.prefix, kv_head, slot));
      const double total = Softmax(p);
      for (std::size_t slot = 0; slot < p.size(); ++slot)
        mass[slot / static_cast<std::size_t>(args.chunk)] += p[slot] / total;
    }
    for (std::size_t c = 0; c < mass.size(); ++c)
      Row(args.y, row)[c] = static_cast<float>(mass[c]);
  }
  return absl::OkStatus();
}

}  // namespace banyan
