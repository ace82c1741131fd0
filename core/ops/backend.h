// Backend: whole-tensor operations on opaque buffers. A model is written once,
// against this interface. The header of an op's arguments states its contract;
// ReferenceBackend is the reference implementation. devices.h opens a backend
// by name.
#ifndef BANYAN_CORE_OPS_BACKEND_H_
#define BANYAN_CORE_OPS_BACKEND_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/clock.h"
#include "core/base/weight_format.h"
#include "core/device/buffer.h"
#include "core/device/gpu_facts.h"
#include "core/ops/activate.h"
#include "core/ops/attention.h"
#include "core/ops/attention_mass.h"
#include "core/ops/copy.h"
#include "core/ops/embed.h"
#include "core/ops/gauge.h"
#include "core/ops/kv_cache.h"
#include "core/ops/linear.h"
#include "core/ops/norm.h"
#include "core/ops/panels.h"
#include "core/ops/read_row.h"
#include "core/ops/rotate.h"
#include "core/ops/round_tables.h"
#include "core/ops/weight.h"
#include "core/prob/distribution.h"
#include "core/prob/logits.h"

namespace banyan {

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
  // Whether it keeps the promise below: a row depends on that row alone.
  bool faithful = true;
  GpuFacts gpu;      // that computes; its name is empty if none does
  std::string note;  // what its user should know; empty: nothing
};

// Ops that were recorded (Backend::Record).
class Recording {
 public:
  virtual ~Recording() = default;
};

// Rows: a row's result depends on that row alone, unless the backend's facts
// say that it is not faithful (DeviceOptions::fast). The result is
// bit-identical whatever rows are beside it, wherever the rows lie in memory,
// for any number of threads and whatever ran before. Each backend chooses the
// order of its sums and states it beside its kernels, so two backends may round
// differently.
//
// NaN and infinity propagate: if a number that a row is computed from is NaN or
// infinite, or a sum leaves the range of a float, some number of the row is NaN
// or infinite too (a nonlinearity may saturate: silu(-1e30) is 0). So the fault
// reaches the logits, and reading them fails. If one row of a tree is not
// finite, the other rows of the tree are not promised to be.
//
// Time: work is done in the order of the calls. Any call may return before its
// work is done, except those that give numbers to the caller (Download,
// Law(), Best) and Finish, which wait for all earlier calls. Work that fails
// after its call has returned fails the next call that waits, and all later
// ones. When a call returns, it has read what it needs of the caller's own
// memory. A buffer may be destroyed while work on it is under way.
//
// Recording: where supported, Record() keeps the calls of `work` instead of
// doing them. Replay() does them again, as often as is wanted, at the cost of
// one call: the same ops on the same buffers, whatever these then hold. `work`
// calls ops only: a call that allocates, gives numbers to the caller or reads
// the caller's memory fails. `work` must have run once before, so that all
// memory is there. All that a recording uses must outlive the recording.
//
// Safe for concurrent use on different buffers. Buffers, weights and caches
// belong to the backend that made them and may outlive it.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual BackendFacts facts() const = 0;
  // The same for people: "cpu AVX2, 2 threads".
  virtual std::string description() const = 0;

  // Waits until everything that was called has been done.
  virtual absl::Status Finish() = 0;
  // What the device can do at most; Unimplemented where nobody can tell.
  // `bytes` and the clock are as gauge.h says; the backend and the clock
  // outlive it.
  virtual absl::StatusOr<std::unique_ptr<Gauge>> NewGauge(std::size_t bytes,
                                                          const Clock& clock);

  virtual absl::StatusOr<std::unique_ptr<Recording>> Record(
      absl::FunctionRef<absl::Status()> work);
  virtual absl::Status Replay(const Recording& recording);
  // The lists of a round that the device runs alone. Unimplemented where there
  // are no such rounds, or not of this plan.
  virtual absl::StatusOr<std::unique_ptr<RoundTables>> NewRound(
      const RoundTablesOptions& options);
  // The most that was in use at once of the device's own memory; 0 where this
  // machine's is.
  virtual std::size_t peak_bytes() const { return 0; }
  // ResourceExhausted with the numbers, and with `what` would take so much,
  // where the device knows that `bytes` more have no room.
  virtual absl::Status CheckRoom(std::size_t bytes, absl::string_view what);

  // Zeroed memory.
  virtual absl::StatusOr<std::unique_ptr<Buffer>> Allocate(
      std::size_t bytes) = 0;
  virtual absl::Status Upload(absl::Span<const std::byte> from, Buffer& to,
                              std::size_t offset) = 0;
  virtual absl::Status Download(const Buffer& from, std::size_t offset,
                                absl::Span<std::byte> to) = 0;

  // Packs a matrix, asking for its rows once each, in order.
  virtual absl::StatusOr<std::unique_ptr<Weight>> Pack(WeightFormat format,
                                                       int rows, int columns,
                                                       WeightRows source) = 0;
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
  // Makes room for `slots` slots, keeping what the first `used` hold.
  virtual absl::Status ReserveKv(KvCache& cache, int slots, int used) = 0;

  virtual absl::Status Embed(const EmbedArgs& args) = 0;
  virtual absl::Status Norm(const NormArgs& args) = 0;
  virtual absl::Status Linear(const LinearArgs& args) = 0;
  virtual absl::Status Rotate(const RotateArgs& args) = 0;
  virtual absl::Status Activate(const ActivateArgs& args) = 0;
  virtual absl::Status Copy(const CopyArgs& args) = 0;
  // Of several sequences at once, each with caches of its own.
  virtual absl::Status StoreKv(absl::Span<const StoreKvArgs> sequences) = 0;
  virtual absl::Status MoveKv(const MoveKvArgs& args) = 0;
  virtual absl::Status Attention(absl::Span<const AttentionArgs> sequences) = 0;
  virtual absl::Status AttentionMass(const AttentionMassArgs& args) = 0;

  // Queries and keys turned, then keys and values stored: unless overridden one
  // after the other. Keys need not be written but in the cache.
  virtual absl::Status RotateStore(const RotateArgs& queries,
                                   const RotateArgs& keys,
                                   absl::Span<const StoreKvArgs> sequences);

  virtual absl::StatusOr<Distribution> Law(const LawArgs& args) = 0;
  virtual absl::StatusOr<std::vector<TokenLogit>> Best(
      const BestArgs& args) = 0;
};

// Does the op that makes the rows of a product, if there is one.
absl::Status MakeRows(Backend& backend, const LinearInput& source);

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_BACKEND_H_
