// Plans how a model grows into a larger one with the same outputs: for every
// tensor of the larger model, where the old numbers go and what fills the rest.
//
// Write d for the hidden size and D for the new one. The residual stream keeps
// its d coordinates, and the D - d others are zero at every place: the rows of
// embedding, output projections and down projections that would write them are
// zero. So a matrix that reads them multiplies zeros, and its columns there may
// be noise. A root mean square norm then divides the same sum by D, not by d:
//
//   x / sqrt(sum / D + eps d / D) = x / sqrt(sum / d + eps) sqrt(D / d),
//
// so the norm's weights are scaled by sqrt(d / D), and eps by d / D. If D / d
// is a power of four, both are exact in any binary format, and so is every sum:
// the logits are bit-identical to the old ones. Otherwise the norm's weights
// are stored as F32, and only roundings differ. Norms over a head (qwen3) stay
// as they are, with their eps.
//
// New heads and new feed-forward rows are noise; the columns of the output and
// down projections that read them are zero. With G query heads to a key head
// before and G' after, head j of key head g goes to g G' + j. New layers come
// after the old ones; their output and down projections are zero, so they add
// nothing.
//
// Under q8, where weights share a scale in blocks of 32 columns, the outputs
// are the same only if no block holds old and new numbers: the old sizes must
// be multiples of 32.
#ifndef BANYAN_EXPERIMENTS_MAKERS_GROW_TENSOR_PLAN_H_
#define BANYAN_EXPERIMENTS_MAKERS_GROW_TENSOR_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/number_rows.h"
#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/safetensors.h"
#include "core/checkpoint/stored_tensor.h"
#include "experiments/makers/grow/model_size.h"

namespace banyan {

// Noise: numbers for weights that nothing depends on, so that they cost what a
// trained model's do.
//
// Not a choice of any algorithm, so no RandomSource makes it: a whole model of
// it must be written in seconds.

// Every row of every tensor has numbers of its own, which its seed, the
// tensor's name and the row alone decide. All of them are bfloat16 numbers, the
// same in every type they are stored as: F32, F16 or BF16.
class Noise {
 public:
  // The key of a tensor under a seed.
  static std::uint64_t Key(std::uint64_t seed, absl::string_view tensor);
  Noise(std::uint64_t key, std::int64_t row);

  // Writes the next `count` weights: spread around zero with standard
  // deviation 0.032 and magnitudes from 1/128 to 1/8.
  void Weights(DType dtype, int count, std::byte* out);
  // A norm's weight, from 1 to 1.12.
  double Gain();

 private:
  std::uint64_t Next();

  std::uint64_t state_;
};

// Writes `number`, which is one of that type exactly, as F32, F16 or BF16; F16
// takes no number smaller than 2^-14 but zero.
void StoreExactly(float number, DType dtype, std::byte* out);

// Where the old places of one dimension lie among the new ones: blocks of
// `old_block` of them, in order, each at the start of `new_block` new places.
struct Axis {
  int size = 0;      // new
  int old_size = 0;  // 0: all is new
  int old_block = 0;
  int new_block = 0;

  // All old places first.
  static Axis First(int old_size, int size);

  // The places from `place` on that go on alike: the old place of the first, or
  // -1 if they are new, and how many they are.
  struct Run {
    int old_place;
    int count;
  };
  Run At(int place) const;
};

enum class Fill {
  kZero,
  kNoise,
  kGain,  // of norms: near one, scaled as the old ones are
};

struct GrownTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::optional<StoredTensor> old;  // none: in a new layer
  Axis rows;
  Axis columns;  // of a vector: one
  bool is_vector = false;
  Fill new_rows = Fill::kZero;
  Fill new_columns = Fill::kZero;
  double scale = 1;  // of the old numbers and of gains; vectors only

  TensorEntry entry() const;
  std::int64_t numbers() const {
    return std::int64_t{1} * rows.size * columns.size;
  }
};

// The factor of the norms' weights, sqrt(d / D).
double NormScale(int hidden, int new_hidden);
// Whether it is a power of two.
bool IsExactScale(int hidden, int new_hidden);

// Makes `tensor`, a norm's weights over a hidden state, those of the wider one,
// in a type that holds them exactly if the scale is exact. `old`: the weights,
// or those that a new layer's are modelled on.
void ScaleNorm(absl::Span<const float> old, int hidden, int new_hidden,
               GrownTensor& tensor);

// Every tensor of the grown model, in the order in which it is written. `size`
// has passed CheckGrowth. The tensors live as long as `checkpoint`.
absl::StatusOr<std::vector<GrownTensor>> PlanTensors(
    const Checkpoint& checkpoint, const ModelSize& size);

// Writes rows [first, first + count) of `tensor` to `out`, one after the other,
// as they are stored. The same seed gives the same noise. Fails as ReadRows
// (core/checkpoint/weight_rows.h) if a file that they are read from was cut.
absl::Status FillRows(const GrownTensor& tensor, std::uint64_t seed, int first,
                      int count, absl::Span<std::byte> out);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_MAKERS_GROW_TENSOR_PLAN_H_
