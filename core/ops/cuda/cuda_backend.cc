#include "core/ops/cuda/cuda_backend.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/memory/memory.h"
#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/base/weight_format.h"
#include "core/device/buffer.h"
#include "core/device/cuda/device.h"
#include "core/device/cuda/span.h"
#include "core/device/gpu_facts.h"
#include "core/ops/backend.h"
#include "core/ops/cuda/cuda_buffer.h"
#include "core/ops/cuda/cuda_gauge.h"
#include "core/ops/cuda/cuda_recording.h"
#include "core/ops/cuda/cuda_weight.h"
#include "core/ops/cuda/early_launches.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/cuda/staging.h"
#include "core/ops/device_ops.h"
#include "core/ops/host/host.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"

namespace banyan {
namespace {

// The largest k of Best() on the device; for more, the host reads the row.
constexpr int kFewBest = 16;

}  // namespace

absl::StatusOr<std::unique_ptr<CudaBackend>> CudaBackend::Create(
    std::shared_ptr<CudaDevice> device, const OpKernels& kernels,
    std::string name, bool fast) {
  if (fast) BANYAN_RETURN_IF_ERROR(device->OpenProducts());
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Staging> staging,
                          Staging::Create(device));
  return absl::WrapUnique(new CudaBackend(
      std::move(device), kernels, std::move(name), fast, std::move(staging)));
}

CudaBackend::CudaBackend(std::shared_ptr<CudaDevice> device,
                         const OpKernels& kernels, std::string name, bool fast,
                         std::unique_ptr<Staging> staging)
    : device_(std::move(device)),
      kernels_(kernels),
      name_(std::move(name)),
      fast_(fast),
      staging_(std::move(staging)) {}

BackendFacts CudaBackend::facts() const {
  return {.device = name_,
          .rounds_to_bf16 = true,
          .own_rounds = OwnRounds::kByDefault,
          .faithful = !fast_,
          .gpu = device_->facts().gpu};
}

std::string CudaBackend::description() const {
  const CudaDeviceFacts& facts = device_->facts();
  return absl::StrCat(facts.gpu.name.empty() ? "" : absl::StrCat(name_, " "),
                      facts.name, fast_ ? ", fast" : "");
}

absl::Status CudaBackend::Finish() {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  return staging_->Finish();
}

absl::Status CudaBackend::CheckNotRecording(absl::string_view what) const {
  if (!recording_) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(what, " while work is recorded"));
}

absl::StatusOr<std::unique_ptr<Recording>> CudaBackend::Record(
    absl::FunctionRef<absl::Status()> work) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  BANYAN_RETURN_IF_ERROR(CheckNotRecording("a recording"));
  absl::Status asked;
  recording_ = true;
  absl::StatusOr<std::unique_ptr<CudaGraph>> graph =
      device_->Capture([&] { asked = work(); });
  recording_ = false;
  BANYAN_RETURN_IF_ERROR(asked);
  BANYAN_RETURN_IF_ERROR(graph.status());
  return std::make_unique<CudaRecording>(device_, *std::move(graph), scratch_);
}

absl::Status CudaBackend::Replay(const Recording& recording) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  BANYAN_RETURN_IF_ERROR(CheckNotRecording("a replay"));
  device_->Replay(static_cast<const CudaRecording&>(recording).graph());
  return absl::OkStatus();
}

void CudaBackend::Ask(absl::FunctionRef<void(CudaDevice&)> launch) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  launch(*device_);
}

absl::StatusOr<std::unique_ptr<Gauge>> CudaBackend::NewGauge(
    std::size_t bytes, const Clock& clock) {
  const GpuFacts& gpu = device_->facts().gpu;
  if (gpu.name.empty()) return Backend::NewGauge(bytes, clock);
  // Eight blocks of eight warps fill a multiprocessor.
  return NewCudaGauge(device_, kernels_,
                      {.bytes = bytes, .blocks = 8 * gpu.multiprocessors},
                      clock);
}

absl::Status CudaBackend::CheckRoom(std::size_t bytes, absl::string_view what) {
  BANYAN_ASSIGN_OR_RETURN(const std::size_t free, device_->FreeBytes());
  if (bytes <= free) return absl::OkStatus();
  const CudaDeviceFacts& facts = device_->facts();
  return absl::ResourceExhaustedError(absl::StrFormat(
      "%s: %.1f MB on %s, which has %.1f MB free of %.1f", what, bytes / 1e6,
      facts.name, free / 1e6, facts.memory_bytes / 1e6));
}

absl::StatusOr<std::unique_ptr<Buffer>> CudaBackend::NewBuffer(
    std::size_t bytes) {
  BANYAN_RETURN_IF_ERROR(CheckNotRecording("an allocation"));
  BANYAN_ASSIGN_OR_RETURN(const DeviceSpan span,
                          device_->Allocate(bytes, "buffer"));
  device_->FillZero(span);
  return std::make_unique<CudaBuffer>(device_, span);
}

absl::StatusOr<std::unique_ptr<Buffer>> CudaBackend::Allocate(
    std::size_t bytes) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  return NewBuffer(bytes);
}

absl::Status CudaBackend::CopyIn(absl::Span<const std::byte> from,
                                 DeviceSpan to) {
  BANYAN_RETURN_IF_ERROR(CheckNotRecording("an upload"));
  return staging_->CopyIn(from, to);
}

absl::Status CudaBackend::CopyOut(DeviceSpan from, absl::Span<std::byte> to) {
  BANYAN_RETURN_IF_ERROR(CheckNotRecording("a download"));
  return staging_->CopyOut(from, to);
}

absl::Status CudaBackend::Upload(absl::Span<const std::byte> from, Buffer& to,
                                 std::size_t offset) {
  Check(offset + from.size() <= to.bytes(), "an upload past the buffer's end");
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  return CopyIn(from, SpanOf(&to).Part(offset, from.size()));
}

absl::Status CudaBackend::Download(const Buffer& from, std::size_t offset,
                                   absl::Span<std::byte> to) {
  Check(offset + to.size() <= from.bytes(), "a download past the buffer's end");
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  return CopyOut(SpanOf(&from).Part(offset, to.size()), to);
}

absl::StatusOr<std::unique_ptr<Weight>> CudaBackend::Pack(WeightFormat format,
                                                          int rows, int columns,
                                                          WeightRows source) {
  return PackPaired(format, rows, columns, {}, source);
}

absl::StatusOr<std::unique_ptr<Weight>> CudaBackend::PackPaired(
    WeightFormat format, int rows, int columns, RowPairs pairs,
    WeightRows source) {
  Check(rows > 0 && columns > 0, "an empty weight");
  if (IsFourBits(format)) return NoFourBits(description());
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const auto copy = [this](absl::Span<const std::byte> from, DeviceSpan to) {
    return CopyIn(from, to);
  };
  if (fast_ && format != WeightFormat::kQ8)
    return PackRows(device_, format, rows, columns, source, copy);
  // Products with f32 do nothing that wants pairs.
  if (format == WeightFormat::kF32) pairs = {};
  return PackTiles(device_, format, rows, columns, pairs, source, copy);
}

absl::StatusOr<DeviceSpan> CudaBackend::Scratch(std::size_t bytes) {
  if (scratch_ == nullptr || scratch_->bytes() < bytes) {
    BANYAN_RETURN_IF_ERROR(CheckNotRecording("an allocation"));
    scratch_ = nullptr;
    BANYAN_ASSIGN_OR_RETURN(const DeviceSpan span,
                            device_->Allocate(bytes, "scratch"));
    scratch_ = std::make_shared<CudaBuffer>(device_, span);
  }
  return SpanOf(scratch_.get()).Part(0, bytes);
}

absl::Status CudaBackend::Embed(const EmbedArgs& args) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const EarlyLaunches early(*device_, args.y.rows);
  kernels_.embed(
      *device_, {.ids = ListOf(args.ids, static_cast<std::size_t>(args.y.rows)),
                 .table = WeightOf(*args.table),
                 .y = args.y,
                 .add = args.add});
  return absl::OkStatus();
}

absl::Status CudaBackend::Norm(const NormArgs& args) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const EarlyLaunches early(*device_, args.x.rows);
  kernels_.norm(*device_, args);
  return absl::OkStatus();
}

absl::Status CudaBackend::RotateStore(const RotateStoreArgs& args) {
  // Pairs of numbers become words where both halves of a head are even.
  if (args.queries.head_dim % 4 != 0 || !StoresAtOnce(args))
    return DeviceOps::RotateStore(args);
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const EarlyLaunches early(*device_, args.queries.x.rows);
  for (const StoreKvArgs& store : args.sequences) host::CheckStore(store);
  kernels_.rotate_store(*device_, args);
  return absl::OkStatus();
}

absl::Status CudaBackend::Rotate(const RotateArgs& args) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const EarlyLaunches early(*device_, args.x.rows);
  kernels_.rotate(*device_, args);
  return absl::OkStatus();
}

absl::Status CudaBackend::Activate(const ActivateArgs& args) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const EarlyLaunches early(*device_, args.x.rows);
  kernels_.activate(*device_, args);
  return absl::OkStatus();
}

absl::Status CudaBackend::Copy(const CopyArgs& args) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const EarlyLaunches early(*device_, args.y.rows);
  kernels_.copy(*device_, args);
  return absl::OkStatus();
}

absl::StatusOr<LogitRow> CudaBackend::Fetch(const LogitRow& logits,
                                            std::unique_ptr<Buffer>& buffer) {
  const DeviceSpan row = NumbersOf(logits.row);
  BANYAN_ASSIGN_OR_RETURN(buffer, host::Allocate(row.bytes));
  {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    BANYAN_RETURN_IF_ERROR(
        CopyOut(row, absl::MakeSpan(host::Bytes(*buffer), row.bytes)));
  }
  return LogitRow{{buffer.get(), 0, 1, logits.row.columns,
                   static_cast<std::size_t>(logits.row.columns)},
                  logits.used};
}

absl::StatusOr<Distribution> CudaBackend::Law(const LawArgs& args) {
  const SamplingOptions& options = args.rule->options();
  if (args.rule->greedy() && options.repetition_penalty == 1 &&
      options.banned.empty()) {
    BANYAN_ASSIGN_OR_RETURN(const std::vector<TokenLogit> best,
                            Best({args.logits, 1}));
    if (best.empty()) return NoTokenLeft();
    return Distribution::OneHot(args.logits.row.columns, best.front().token);
  }
  std::unique_ptr<Buffer> buffer;
  LawArgs on_host = args;
  BANYAN_ASSIGN_OR_RETURN(on_host.logits, Fetch(args.logits, buffer));
  return host::Law(on_host);
}

absl::StatusOr<std::vector<TokenLogit>> CudaBackend::Best(
    const BestArgs& args) {
  if (args.k > kFewBest) {
    std::unique_ptr<Buffer> buffer;
    BANYAN_ASSIGN_OR_RETURN(const LogitRow row, Fetch(args.logits, buffer));
    BANYAN_ASSIGN_OR_RETURN(const std::vector<double> logits,
                            host::Logits(row));
    return BestLogits(logits, args.k);
  }
  std::vector<std::int32_t> pairs(2 * (static_cast<std::size_t>(args.k) + 1));
  const std::size_t bytes = pairs.size() * sizeof(std::int32_t);
  {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    BANYAN_ASSIGN_OR_RETURN(const DeviceSpan found, Scratch(bytes));
    kernels_.best(*device_, {.logits = args.logits.row,
                             .used = args.logits.used,
                             .count = args.k,
                             .found = found});
    BANYAN_RETURN_IF_ERROR(
        CopyOut(found, {reinterpret_cast<std::byte*>(pairs.data()), bytes}));
  }
  const auto logit = [&](std::size_t i) {
    return static_cast<double>(std::bit_cast<float>(pairs[2 * i + 1]));
  };
  if (pairs[0] >= 0) return NoLogit(pairs[0], logit(0));
  std::vector<TokenLogit> best;
  for (std::size_t i = 1; 2 * i < pairs.size() && pairs[2 * i] >= 0; ++i)
    best.push_back({pairs[2 * i], logit(i)});
  return best;
}

}  // namespace banyan
