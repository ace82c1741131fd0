#include "experiments/makers/grow/tensor_plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/strip.h"
#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/weight_rows.h"

namespace banyan {

namespace {

static_assert(std::endian::native == std::endian::little,
              "numbers are stored little-endian, as they lie in memory");

// The step of SplitMix64 (Steele, Lea, Flood 2014); Mixed() is its finaliser.
constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;

// A bfloat16 weight from 16 random bits: sign, fraction and the exponent's last
// bit are theirs. One in eight has the exponent -5 or -4, the others -7 or -6,
// so the mean square is
// 7/3 (7/8 (4^-7 + 4^-6) / 2 + 1/8 (4^-5 + 4^-4) / 2) = 0.032^2.
std::uint16_t WeightBits(std::uint16_t random) {
  const bool large = (random & 0x7000) == 0;
  const int exponent = 127 + (large ? -5 : -7);  // even
  return static_cast<std::uint16_t>((random & 0x80ff) | exponent << 7);
}

std::uint32_t WidenBf16(std::uint16_t bits) {
  return std::uint32_t{bits} << 16;
}

// The exponents' biases are 127 and 15, the fractions 23 and 10 bits. Below
// 2^-14 a number of F16 is a multiple of 2^-24.
std::uint16_t HalfBits(std::uint32_t bits) {
  const float magnitude = std::bit_cast<float>(bits & 0x7fffffff);
  if (magnitude < 0x1p-14F) {
    const auto steps = static_cast<std::uint32_t>(magnitude * 0x1p24F);
    Check(static_cast<float>(steps) * 0x1p-24F == magnitude,
          "the number is one of F16");
    return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | steps);
  }
  const std::uint32_t exponent = (bits >> 23 & 0xff) - 112;
  Check(exponent >= 1 && exponent <= 30 && (bits & 0x1fff) == 0,
        "the number is one of F16");
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | exponent << 10 |
                                    (bits >> 13 & 0x3ff));
}

template <typename T>
void Store(T bits, std::byte* out) {
  std::memcpy(out, &bits, sizeof bits);
}

void StoreBits(std::uint32_t bits, DType dtype, std::byte* out) {
  switch (dtype) {
    case DType::kF32:
      return Store(bits, out);
    case DType::kF16:
      return Store(HalfBits(bits), out);
    case DType::kBf16:
      Check((bits & 0xffff) == 0, "the number is one of BF16");
      return Store(static_cast<std::uint16_t>(bits >> 16), out);
    default:
      Check(false, "weights are F32, F16 or BF16");
  }
}

}  // namespace

std::uint64_t Noise::Key(std::uint64_t seed, absl::string_view tensor) {
  return Mixed(
      Mixed(seed + kStep) ^
      Fnv1a(absl::MakeConstSpan(
          reinterpret_cast<const std::byte*>(tensor.data()), tensor.size())));
}

Noise::Noise(std::uint64_t key, std::int64_t row)
    : state_(Mixed(key + kStep * (static_cast<std::uint64_t>(row) + 1))) {}

std::uint64_t Noise::Next() {
  state_ += kStep;
  return Mixed(state_);
}

void Noise::Weights(DType dtype, int count, std::byte* out) {
  constexpr int kChunk = 1024;  // multiple of four
  std::array<std::uint64_t, kChunk / 4> words;
  std::array<std::uint16_t, kChunk> weights;
  const auto size = static_cast<std::size_t>(DTypeBytes(dtype));
  while (count > 0) {
    const auto here = static_cast<std::size_t>(std::min(count, kChunk));
    for (std::size_t i = 0; i < (here + 3) / 4; ++i) words[i] = Next();
    std::memcpy(weights.data(), words.data(), here * sizeof(weights[0]));
    for (std::size_t i = 0; i < here; ++i) weights[i] = WeightBits(weights[i]);
    if (dtype == DType::kBf16)
      std::memcpy(out, weights.data(), here * size);
    else
      for (std::size_t i = 0; i < here; ++i)
        StoreBits(WidenBf16(weights[i]), dtype, out + i * size);
    out += here * size;
    count -= static_cast<int>(here);
  }
}

double Noise::Gain() { return 1 + static_cast<double>(Next() % 16) / 128; }

void StoreExactly(float number, DType dtype, std::byte* out) {
  StoreBits(std::bit_cast<std::uint32_t>(number), dtype, out);
}

namespace {

std::string LayerPrefix(std::size_t layer) {
  return absl::StrCat("model.layers.", layer, ".");
}

// What beside the old numbers of a tensor.
struct Beside {
  Fill rows = Fill::kZero;
  Fill columns = Fill::kZero;
};
constexpr Beside kZeros = {Fill::kZero, Fill::kZero};
constexpr Beside kNoise = {Fill::kNoise, Fill::kNoise};
constexpr Beside kGains = {Fill::kGain, Fill::kGain};

class Planner {
 public:
  Planner(const Checkpoint& checkpoint, const ModelSize& size)
      : checkpoint_(checkpoint), of_(checkpoint.architecture()), size_(size) {
    const int dim = of_.head_dim;
    const int group = of_.heads / of_.kv_heads;
    hidden_ = Axis::First(of_.hidden_size, size.hidden);
    queries_ = {.size = size.heads * dim,
                .old_size = of_.heads * dim,
                .old_block = group * dim,
                .new_block = size.heads / size.kv_heads * dim};
    keys_ = Axis::First(of_.kv_heads * dim, size.kv_heads * dim);
    wide_ = Axis::First(of_.feed_forward_size, size.feed_forward);
    head_ = Axis::First(dim, dim);
    vocab_ = Axis::First(of_.vocab_size, of_.vocab_size);
  }

  absl::StatusOr<std::vector<GrownTensor>> Plan() {
    Matrix(of_.embedding, vocab_, hidden_, kZeros);
    for (layer_ = 0; layer_ < static_cast<std::size_t>(size_.layers); ++layer_)
      Layer();
    Norm(of_.final_norm);
    if (!of_.tied_head) Matrix(of_.head, vocab_, hidden_, kNoise);
    BANYAN_RETURN_IF_ERROR(status_);
    return std::move(tensors_);
  }

 private:
  void Layer() {
    added_ = layer_ >= of_.layers.size();
    // A new layer has the tensors of the last, in its types.
    const LayerSources& from = added_ ? of_.layers.back() : of_.layers[layer_];
    Norm(from.attention_norm);
    Matrix(from.query, queries_, hidden_, kNoise);
    Matrix(from.key, keys_, hidden_, kNoise);
    Matrix(from.value, keys_, hidden_, kNoise);
    Vector(from.query_bias, queries_, kNoise);
    Vector(from.key_bias, keys_, kNoise);
    Vector(from.value_bias, keys_, kNoise);
    Vector(from.query_norm, head_, kGains);
    Vector(from.key_norm, head_, kGains);
    Matrix(from.output, hidden_, queries_, kZeros);
    Vector(from.output_bias, hidden_, kZeros);
    Norm(from.mlp_norm);
    Matrix(from.gate, wide_, hidden_, kNoise);
    Matrix(from.up, wide_, hidden_, kNoise);
    Vector(from.gate_bias, wide_, kNoise);
    Vector(from.up_bias, wide_, kNoise);
    Matrix(from.down, hidden_, wide_, kZeros);
    Vector(from.down_bias, hidden_, kZeros);
    added_ = false;
  }

  GrownTensor* Add(const WeightSource& source, const Axis& rows,
                   const Axis& columns, const Beside& beside) {
    if (!source.present()) return nullptr;
    absl::StatusOr<StoredTensor> old = checkpoint_.Tensor(source);
    status_.Update(old.status());
    if (!old.ok()) return nullptr;
    GrownTensor tensor = {.name = source.tensor,
                          .dtype = old->dtype,
                          .rows = rows,
                          .columns = columns,
                          .new_rows = beside.rows,
                          .new_columns = beside.columns};
    if (added_) {
      absl::string_view name = source.tensor;
      Check(absl::ConsumePrefix(&name, LayerPrefix(of_.layers.size() - 1)),
            "a layer's tensors are called after it");
      tensor.name = absl::StrCat(LayerPrefix(layer_), name);
      tensor.rows.old_size = 0;
    } else {
      tensor.old = *std::move(old);
    }
    tensors_.push_back(std::move(tensor));
    return &tensors_.back();
  }

  void Matrix(const WeightSource& source, const Axis& rows, const Axis& columns,
              const Beside& beside) {
    Add(source, rows, columns, beside);
  }

  GrownTensor* Vector(const WeightSource& source, const Axis& rows,
                      const Beside& beside) {
    GrownTensor* tensor = Add(source, rows, Axis::First(1, 1), beside);
    if (tensor != nullptr) tensor->is_vector = true;
    return tensor;
  }

  // Over the hidden state.
  void Norm(const WeightSource& source) {
    GrownTensor* tensor = Vector(source, hidden_, kGains);
    if (tensor == nullptr) return;
    std::vector<float> numbers(static_cast<std::size_t>(source.rows));
    status_.Update(checkpoint_.ReadRows(source, {0, source.rows},
                                        absl::MakeSpan(numbers)));
    ScaleNorm(numbers, of_.hidden_size, size_.hidden, *tensor);
  }

  const Checkpoint& checkpoint_;
  const Architecture& of_;
  const ModelSize size_;
  Axis hidden_, queries_, keys_, wide_, head_, vocab_;
  std::size_t layer_ = 0;
  bool added_ = false;
  std::vector<GrownTensor> tensors_;
  absl::Status status_;
};

}  // namespace

Axis Axis::First(int old_size, int size) {
  return {size, old_size, old_size, size};
}

Axis::Run Axis::At(int place) const {
  if (old_size == 0) return {-1, size - place};
  const int block = place / new_block;
  const int within = place % new_block;
  if (block >= old_size / old_block) return {-1, size - place};
  if (within >= old_block) return {-1, new_block - within};
  return {block * old_block + within, old_block - within};
}

TensorEntry GrownTensor::entry() const {
  TensorEntry entry = {.name = name, .dtype = dtype, .shape = {rows.size}};
  if (!is_vector) entry.shape.push_back(columns.size);
  return entry;
}

double NormScale(int hidden, int new_hidden) {
  return std::sqrt(static_cast<double>(hidden) / new_hidden);
}

bool IsExactScale(int hidden, int new_hidden) {
  while (new_hidden > hidden && new_hidden % 4 == 0) new_hidden /= 4;
  return new_hidden == hidden;
}

void ScaleNorm(absl::Span<const float> old, int hidden, int new_hidden,
               GrownTensor& tensor) {
  if (hidden == new_hidden) return;
  // Whether halving the numbers again and again could cost BF16 a bit. F16,
  // which has fewer exponents, is not asked.
  const bool has_tiny = std::any_of(old.begin(), old.end(), [](float number) {
    return number != 0 && std::fabs(number) < 0x1p-100F;
  });
  tensor.scale = NormScale(hidden, new_hidden);
  if (has_tiny || !IsExactScale(hidden, new_hidden) ||
      tensor.dtype == DType::kF16)
    tensor.dtype = DType::kF32;
}

absl::StatusOr<std::vector<GrownTensor>> PlanTensors(
    const Checkpoint& checkpoint, const ModelSize& size) {
  return Planner(checkpoint, size).Plan();
}

namespace {

// One row of a tensor.
class RowWriter {
 public:
  RowWriter(const GrownTensor& tensor, std::uint64_t key, int row)
      : tensor_(tensor), noise_(key, row) {}

  // `old_row` is -1 for a new row.
  absl::Status Write(int old_row, std::byte* out) {
    for (int column = 0; column < tensor_.columns.size;) {
      const Axis::Run run = old_row < 0 ? Axis::Run{-1, tensor_.columns.size}
                                        : tensor_.columns.At(column);
      if (run.old_place >= 0)
        BANYAN_RETURN_IF_ERROR(CopyOld(old_row, run, out));
      else
        FillNew(old_row < 0 ? tensor_.new_rows : tensor_.new_columns, run.count,
                out);
      column += run.count;
      out += Bytes(tensor_.dtype, run.count);
    }
    return absl::OkStatus();
  }

 private:
  static std::size_t Bytes(DType dtype, std::int64_t count) {
    return static_cast<std::size_t>(DTypeBytes(dtype) * count);
  }

  absl::Status CopyOld(int old_row, const Axis::Run& run,
                       std::byte* out) const {
    const StoredTensor& old = *tensor_.old;
    if (tensor_.scale != 1) {
      float number = 0;
      BANYAN_RETURN_IF_ERROR(
          ReadRows(old, {.rows = tensor_.rows.old_size, .columns = 1},
                   {old_row, 1}, &number));
      StoreExactly(static_cast<float>(number * tensor_.scale), tensor_.dtype,
                   out);
      return absl::OkStatus();
    }
    Check(old.dtype == tensor_.dtype, "what is copied keeps its type");
    const std::int64_t place =
        std::int64_t{1} * old_row * tensor_.columns.old_size + run.old_place;
    std::memcpy(out, old.data.data() + Bytes(old.dtype, place),
                Bytes(old.dtype, run.count));
    return absl::OkStatus();
  }

  void FillNew(Fill fill, int count, std::byte* out) {
    switch (fill) {
      case Fill::kZero:
        std::memset(out, 0, Bytes(tensor_.dtype, count));
        return;
      case Fill::kNoise:
        noise_.Weights(tensor_.dtype, count, out);
        return;
      case Fill::kGain:
        for (int i = 0; i < count; ++i)
          StoreExactly(static_cast<float>(noise_.Gain() * tensor_.scale),
                       tensor_.dtype, out + Bytes(tensor_.dtype, i));
        return;
    }
  }

  const GrownTensor& tensor_;
  Noise noise_;
};

}  // namespace

absl::Status FillRows(const GrownTensor& tensor, std::uint64_t seed, int first,
                      int count, absl::Span<std::byte> out) {
  const auto row_bytes = static_cast<std::size_t>(DTypeBytes(tensor.dtype)) *
                         static_cast<std::size_t>(tensor.columns.size);
  Check(out.size() == row_bytes * static_cast<std::size_t>(count),
        "the rows fill the space there is");
  const std::uint64_t key = Noise::Key(seed, tensor.name);
  for (int i = 0; i < count; ++i)
    BANYAN_RETURN_IF_ERROR(
        RowWriter(tensor, key, first + i)
            .Write(tensor.rows.At(first + i).old_place,
                   out.data() + static_cast<std::size_t>(i) * row_bytes));
  return tensor.old.has_value() ? tensor.old->CheckWhole() : absl::OkStatus();
}

}  // namespace banyan
