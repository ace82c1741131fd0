#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/dtype.h"
#include "core/base/status_macros.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/checkpoint/weight_rows.h"
#include "experiments/tools/grow/noise.h"
#include "experiments/tools/grow/tensor_plan.h"

namespace banyan {
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
