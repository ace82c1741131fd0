// Backend is a device's memory and ops, and its weights, recordings and rounds.
// A model is written once, against this interface. devices.h opens a backend by
// name.
#ifndef BANYAN_CORE_OPS_BACKEND_H_
#define BANYAN_CORE_OPS_BACKEND_H_

#include <cstddef>
#include <memory>
#include <string>
#include <variant>

#include "absl/functional/function_ref.h"
#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/base/weight_format.h"
#include "core/device/gpu_facts.h"
#include "core/ops/device_memory.h"
#include "core/ops/device_ops.h"
#include "core/ops/panels.h"
#include "core/ops/round_args.h"
#include "core/ops/weight.h"

namespace banyan {

// Gauge: what a device can do at most, measured as its backend uses it (the
// same threads and instruction set), so that a kernel's time can be told as a
// share.

// Made by Backend::NewGauge with the number of bytes that bandwidth is read
// from: small enough for a cache it measures the cache. Each call is one
// measurement of at least a few milliseconds, of work that is finished.
class Gauge {
 public:
  virtual ~Gauge() = default;

  // Bytes a second of a plain read of the buffer, again and again.
  virtual absl::StatusOr<double> ReadBandwidth() = 0;
  // Operations a second, a multiplication and an addition each, of the kind
  // that products with weights of this format are made of.
  virtual absl::StatusOr<double> Peak(WeightFormat format) = 0;
};

// Whether a device runs rounds without the host (Backend::RunStep).
enum class OwnRounds { kNone, kWhenAsked, kByDefault };

using RoundStep = std::variant<SelectArgs, MergeArgs, DistributionArgs,
                               DrawArgs, JudgeArgs, KeepArgs>;

// What a backend is, for records.
struct BackendFacts {
  std::string device;           // its name in the table of devices
  std::string instruction_set;  // of its kernels; empty: there is one only
  int threads = 1;              // of this machine, that compute
  // In which order sums with bfloat16 weights are taken, where there are
  // several: "lanes" or "tiles" (core/ops/cpu/linear_tiles-inl.h). Numbers are
  // the same within one.
  std::string sums;
  // Whether keys, values, and what bfloat16s are multiplied by, are rounded to
  // bfloat16.
  bool rounds_to_bf16 = false;
  // Whether it reads weights and computes, which an outline (devices.h) does
  // not.
  bool computes = true;
  OwnRounds own_rounds = OwnRounds::kNone;
  // Whether it keeps the promise of DeviceOps: a row depends on that row alone.
  bool faithful = true;
  GpuFacts gpu;      // that computes; its name is empty if none does
  std::string note;  // what its user should know; empty: nothing
};

// Ops that were recorded (Backend::Record).
class Recording {
 public:
  virtual ~Recording() = default;
};

// Recording: where supported, Record() keeps the calls of `work` instead of
// doing them. Replay() does them again, as often as is wanted, at the cost of
// one call: the same ops on the same buffers, whatever these then hold. `work`
// calls ops only: a call that allocates, gives numbers to the caller or reads
// the caller's memory fails. `work` must have run once before, so that all
// memory is there. All that a recording uses must outlive the recording.
//
// DeviceMemory says when work is done, and what may run concurrently.
class Backend : public DeviceMemory, public DeviceOps {
 public:
  virtual BackendFacts facts() const = 0;
  // The same for people: "cpu AVX2, 2 threads".
  virtual std::string description() const = 0;

  // What the device can do at most; Unimplemented where nobody can tell.
  // `bytes` and the clock are as the comment on Gauge says; the backend and the
  // clock outlive it.
  virtual absl::StatusOr<std::unique_ptr<Gauge>> NewGauge(std::size_t bytes,
                                                          const Clock& clock);

  virtual absl::StatusOr<std::unique_ptr<Recording>> Record(
      absl::FunctionRef<absl::Status()> work);
  virtual absl::Status Replay(const Recording& recording);
  // A step of a round that the device runs without the host, on lists that it
  // has (core/round/). Unimplemented where OwnRounds is kNone.
  virtual absl::Status RunStep(const RoundMemory& memory,
                               const RoundStep& step);

  // Packs a matrix, asking for its rows once each, in order.
  virtual absl::StatusOr<std::unique_ptr<Weight>> Pack(WeightFormat format,
                                                       int rows, int columns,
                                                       WeightRows source) = 0;
  // The same; a device may keep the rows of pairs side by side.
  virtual absl::StatusOr<std::unique_ptr<Weight>> PackPaired(
      WeightFormat format, int rows, int columns, RowPairs /*pairs*/,
      WeightRows source) {
    return Pack(format, rows, columns, source);
  }
  // A matrix that comes packed. Unimplemented for a device that packs matrices
  // in a way of its own.
  virtual absl::StatusOr<std::unique_ptr<Weight>> Adopt(WeightFormat format,
                                                        int rows, int columns,
                                                        PanelSource source);
  // A matrix that stays in its file: a product reads the panels when it needs
  // them, and fails if they cannot be read. No other op reads it. Unimplemented
  // where only matrices in memory are multiplied.
  virtual absl::StatusOr<std::unique_ptr<Weight>> Stream(WeightFormat format,
                                                         int rows, int columns,
                                                         StreamedPanels panels);
  // Rows [first, first + count) of a matrix. Shares the memory of `whole`.
  // `first` is a multiple of kPanelRows. Unimplemented where every matrix has
  // memory of its own.
  virtual absl::StatusOr<std::unique_ptr<Weight>> Part(const Weight& whole,
                                                       int first, int count);
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_BACKEND_H_
