#include "experiments/tools/grow/tensor_plan.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/dtype.h"
#include "core/base/status_macros.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/safetensors_writer.h"
#include "core/checkpoint/stored_tensor.h"
#include "experiments/tools/grow/model_size.h"

namespace banyan {
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

}  // namespace banyan
