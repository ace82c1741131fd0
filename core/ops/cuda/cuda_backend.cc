#include "core/ops/cuda/cuda_backend.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/device/buffer.h"
#include "core/device/cuda/device.h"
#include "core/device/cuda/span.h"
#include "core/ops/cuda/op_kernels.h"
#include "core/ops/cuda/pack_weight.h"
#include "core/ops/host/host.h"
#include "core/ops/tensor.h"
#include "core/ops/weight.h"
#include "core/prob/distribution.h"
#include "core/prob/logits.h"

namespace banyan {
namespace {

constexpr std::size_t kStagingBytes = std::size_t{4} << 20;

// The device's memory is freed when the work that uses it is done.
class CudaBuffer : public Buffer {
 public:
  CudaBuffer(std::shared_ptr<CudaDevice> device, DeviceSpan span)
      : device_(std::move(device)), span_(span) {}
  ~CudaBuffer() override { device_->Free(span_); }

  std::size_t bytes() const override { return span_.bytes; }
  DeviceSpan span() const { return span_; }

 private:
  const std::shared_ptr<CudaDevice> device_;
  const DeviceSpan span_;
};

class CudaWeight : public Weight {
 public:
  CudaWeight(DeviceWeight weight, std::unique_ptr<Buffer> numbers,
             std::unique_ptr<Buffer> scales)
      : weight_(weight),
        numbers_(std::move(numbers)),
        scales_(std::move(scales)) {}

  WeightFormat format() const override { return weight_.format; }
  int rows() const override { return weight_.rows; }
  int columns() const override { return weight_.columns; }
  std::size_t bytes() const override {
    return weight_.numbers.bytes + weight_.scales.bytes;
  }
  const DeviceWeight& on_device() const { return weight_; }

 private:
  const DeviceWeight weight_;
  const std::unique_ptr<Buffer> numbers_;
  const std::unique_ptr<Buffer> scales_;
};

DeviceSpan SpanOf(const Buffer* buffer) {
  return buffer == nullptr ? DeviceSpan()
                           : static_cast<const CudaBuffer*>(buffer)->span();
}

DeviceMatrix MatrixOf(const Tensor& x) {
  if (x.empty() || x.rows == 0) return {};
  const std::size_t numbers = static_cast<std::size_t>(x.rows - 1) * x.stride +
                              static_cast<std::size_t>(x.columns);
  return {
      SpanOf(x.buffer).Part(x.offset * sizeof(float), numbers * sizeof(float)),
      static_cast<std::int64_t>(x.stride), x.rows, x.columns};
}

DeviceSpan ListOf(const Ints& ints, std::size_t size) {
  return SpanOf(ints.buffer)
      .Part(ints.offset * sizeof(std::int32_t), size * sizeof(std::int32_t));
}

DeviceWeight WeightOf(const Weight& weight) {
  return static_cast<const CudaWeight&>(weight).on_device();
}

DeviceKv KvOf(const KvCache& cache) {
  return {SpanOf(cache.keys.get()), SpanOf(cache.values.get()), cache.kv_heads,
          cache.head_dim, cache.capacity};
}

// Bytes of a head's row of slots.
std::size_t HeadBytes(const KvCache& cache, int slots) {
  return static_cast<std::size_t>(slots) *
         static_cast<std::size_t>(KvWidth(cache.head_dim)) *
         sizeof(std::uint16_t);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaBackend>> CudaBackend::Create(
    std::shared_ptr<CudaDevice> device, const OpKernels& kernels,
    std::string name) {
  BANYAN_ASSIGN_OR_RETURN(void* const staging,
                          device->AllocatePinned(kStagingBytes));
  return absl::WrapUnique(
      new CudaBackend(std::move(device), kernels, std::move(name), staging));
}

CudaBackend::CudaBackend(std::shared_ptr<CudaDevice> device,
                         const OpKernels& kernels, std::string name,
                         void* staging)
    : device_(std::move(device)),
      kernels_(kernels),
      name_(std::move(name)),
      staging_(static_cast<std::byte*>(staging)) {}

CudaBackend::~CudaBackend() {
  (void)device_->Finish();  // nobody is left to be told
  device_->FreePinned(staging_);
}

BackendFacts CudaBackend::facts() const {
  return {.device = name_, .rounds_to_bf16 = true};
}

std::string CudaBackend::description() const { return device_->facts().name; }

absl::Status CudaBackend::Finish() {
  const std::lock_guard<std::mutex> lock(mutex_);
  staged_ = 0;
  return device_->Finish();
}

absl::StatusOr<std::unique_ptr<Buffer>> CudaBackend::NewBuffer(
    std::size_t bytes) {
  BANYAN_ASSIGN_OR_RETURN(const DeviceSpan span,
                          device_->Allocate(bytes, "buffer"));
  device_->FillZero(span);
  return std::make_unique<CudaBuffer>(device_, span);
}

absl::StatusOr<std::unique_ptr<Buffer>> CudaBackend::Allocate(
    std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return NewBuffer(bytes);
}

absl::Status CudaBackend::CopyIn(absl::Span<const std::byte> from,
                                 DeviceSpan to) {
  while (!from.empty()) {
    if (staged_ == kStagingBytes) {
      BANYAN_RETURN_IF_ERROR(device_->Finish());
      staged_ = 0;
    }
    const std::size_t some = std::min(from.size(), kStagingBytes - staged_);
    std::byte* const at = staging_ + staged_;
    std::memcpy(at, from.data(), some);
    device_->CopyIn(at, to.Part(0, some));
    staged_ += some;
    from.remove_prefix(some);
    to = to.Part(some, to.bytes - some);
  }
  return absl::OkStatus();
}

absl::Status CudaBackend::CopyOut(DeviceSpan from, absl::Span<std::byte> to) {
  // What the staging still holds is read first.
  BANYAN_RETURN_IF_ERROR(device_->Finish());
  staged_ = 0;
  while (!to.empty()) {
    const std::size_t some = std::min(to.size(), kStagingBytes);
    device_->CopyOut(from.Part(0, some), staging_);
    BANYAN_RETURN_IF_ERROR(device_->Finish());
    std::memcpy(to.data(), staging_, some);
    to.remove_prefix(some);
    from = from.Part(some, from.bytes - some);
  }
  return absl::OkStatus();
}

absl::Status CudaBackend::Upload(absl::Span<const std::byte> from, Buffer& to,
                                 std::size_t offset) {
  Check(offset + from.size() <= to.bytes(), "an upload past the buffer's end");
  const std::lock_guard<std::mutex> lock(mutex_);
  return CopyIn(from, SpanOf(&to).Part(offset, from.size()));
}

absl::Status CudaBackend::Download(const Buffer& from, std::size_t offset,
                                   absl::Span<std::byte> to) {
  Check(offset + to.size() <= from.bytes(), "a download past the buffer's end");
  const std::lock_guard<std::mutex> lock(mutex_);
  return CopyOut(SpanOf(&from).Part(offset, to.size()), to);
}

absl::StatusOr<std::unique_ptr<Weight>> CudaBackend::Pack(WeightFormat format,
                                                          int rows, int columns,
                                                          WeightRows source) {
  Check(rows > 0 && columns > 0, "an empty weight");
  const auto tiles =
      static_cast<std::size_t>((rows + kTileRows - 1) / kTileRows);
  const std::size_t words =
      TileRowWords(format, columns) * sizeof(std::uint32_t);
  const std::size_t scales =
      TileRowScales(format, columns) * sizeof(std::uint32_t);
  const std::lock_guard<std::mutex> lock(mutex_);
  DeviceWeight weight = {.format = format, .rows = rows, .columns = columns};
  std::unique_ptr<Buffer> numbers;
  std::unique_ptr<Buffer> factors;
  BANYAN_ASSIGN_OR_RETURN(weight.numbers,
                          device_->Allocate(tiles * words, "weights"));
  numbers = std::make_unique<CudaBuffer>(device_, weight.numbers);
  if (scales > 0) {
    BANYAN_ASSIGN_OR_RETURN(weight.scales,
                            device_->Allocate(tiles * scales, "weights"));
    factors = std::make_unique<CudaBuffer>(device_, weight.scales);
  }
  TileRow tile_row;
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    BANYAN_RETURN_IF_ERROR(PackTileRow(format,
                                       static_cast<int>(tile) * kTileRows, rows,
                                       columns, source, tile_row));
    BANYAN_RETURN_IF_ERROR(CopyIn(
        absl::MakeConstSpan(
            reinterpret_cast<const std::byte*>(tile_row.numbers.data()), words),
        weight.numbers.Part(tile * words, words)));
    if (scales > 0)
      BANYAN_RETURN_IF_ERROR(
          CopyIn(absl::MakeConstSpan(
                     reinterpret_cast<const std::byte*>(tile_row.scales.data()),
                     scales),
                 weight.scales.Part(tile * scales, scales)));
  }
  return std::make_unique<CudaWeight>(weight, std::move(numbers),
                                      std::move(factors));
}

absl::Status CudaBackend::ReserveKv(KvCache& cache, int slots, int used) {
  if (slots <= cache.capacity) return absl::OkStatus();
  KvCache grown = {.kv_heads = cache.kv_heads,
                   .head_dim = cache.head_dim,
                   .capacity = PadToLane(slots)};
  const std::size_t head = HeadBytes(grown, grown.capacity);
  const std::size_t bytes = static_cast<std::size_t>(grown.kv_heads) * head;
  const std::lock_guard<std::mutex> lock(mutex_);
  BANYAN_ASSIGN_OR_RETURN(grown.keys, NewBuffer(bytes));
  BANYAN_ASSIGN_OR_RETURN(grown.values, NewBuffer(bytes));
  const std::size_t kept = HeadBytes(cache, used);
  const std::size_t old = HeadBytes(cache, cache.capacity);
  for (std::size_t i = 0;
       kept > 0 && i < static_cast<std::size_t>(cache.kv_heads); ++i) {
    device_->CopyWithin(SpanOf(cache.keys.get()).Part(i * old, kept),
                        SpanOf(grown.keys.get()).Part(i * head, kept));
    device_->CopyWithin(SpanOf(cache.values.get()).Part(i * old, kept),
                        SpanOf(grown.values.get()).Part(i * head, kept));
  }
  cache = std::move(grown);
  return absl::OkStatus();
}

absl::StatusOr<DeviceSpan> CudaBackend::Scratch(std::size_t bytes) {
  if (scratch_ == nullptr || scratch_->bytes() < bytes) {
    scratch_ = nullptr;
    BANYAN_ASSIGN_OR_RETURN(const DeviceSpan span,
                            device_->Allocate(bytes, "scratch"));
    scratch_ = std::make_unique<CudaBuffer>(device_, span);
  }
  return SpanOf(scratch_.get()).Part(0, bytes);
}

absl::Status CudaBackend::Embed(const EmbedArgs& args) {
  const std::lock_guard<std::mutex> lock(mutex_);
  kernels_.embed(
      *device_, {.ids = ListOf(args.ids, static_cast<std::size_t>(args.y.rows)),
                 .table = WeightOf(*args.table),
                 .y = MatrixOf(args.y),
                 .add = args.add});
  return absl::OkStatus();
}

absl::Status CudaBackend::Norm(const NormArgs& args) {
  const std::lock_guard<std::mutex> lock(mutex_);
  kernels_.norm(*device_, {.x = MatrixOf(args.x),
                           .weight = MatrixOf(args.weight),
                           .bias = MatrixOf(args.bias),
                           .epsilon = args.epsilon,
                           .center = args.center,
                           .y = MatrixOf(args.y)});
  return absl::OkStatus();
}

absl::Status CudaBackend::Linear(const LinearArgs& args) {
  const std::lock_guard<std::mutex> lock(mutex_);
  LinearLaunch launch = {.x = MatrixOf(args.x),
                         .weight = WeightOf(*args.weight),
                         .bias = MatrixOf(args.bias),
                         .y = MatrixOf(args.y),
                         .add = args.add};
  BANYAN_ASSIGN_OR_RETURN(launch.scratch,
                          Scratch(kernels_.linear_scratch(launch)));
  kernels_.linear(*device_, launch);
  return absl::OkStatus();
}

absl::Status CudaBackend::Rotate(const RotateArgs& args) {
  const std::lock_guard<std::mutex> lock(mutex_);
  kernels_.rotate(*device_, {.x = MatrixOf(args.x),
                             .head_dim = args.head_dim,
                             .angles = MatrixOf(args.angles),
                             .norm_weight = MatrixOf(args.norm_weight),
                             .epsilon = args.epsilon,
                             .scale = args.scale});
  return absl::OkStatus();
}

absl::Status CudaBackend::Activate(const ActivateArgs& args) {
  const std::lock_guard<std::mutex> lock(mutex_);
  kernels_.activate(*device_, {.gelu = args.function == Nonlinearity::kGeluTanh,
                               .x = MatrixOf(args.x),
                               .up = MatrixOf(args.up),
                               .y = MatrixOf(args.y)});
  return absl::OkStatus();
}

absl::Status CudaBackend::Copy(const CopyArgs& args) {
  const std::lock_guard<std::mutex> lock(mutex_);
  kernels_.copy(*device_, {.x = MatrixOf(args.x), .y = MatrixOf(args.y)});
  return absl::OkStatus();
}

absl::Status CudaBackend::StoreKv(absl::Span<const StoreKvArgs> sequences) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const StoreKvArgs& args : sequences) {
    Check(args.first_slot + args.keys.rows <= args.cache->capacity,
          "keys and values without room");
    kernels_.store_kv(*device_, {.keys = MatrixOf(args.keys),
                                 .values = MatrixOf(args.values),
                                 .cache = KvOf(*args.cache),
                                 .first_slot = args.first_slot});
  }
  return absl::OkStatus();
}

absl::Status CudaBackend::MoveKv(const MoveKvArgs& args) {
  if (args.slots.empty()) return absl::OkStatus();
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::vector<std::int32_t> slots(args.slots.begin(), args.slots.end());
  const auto bytes =
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(slots.data()),
                          slots.size() * sizeof(std::int32_t));
  // The pass that stored the rows took more of it: for want of memory no commit
  // fails, and a round that has scored comes to its end.
  BANYAN_ASSIGN_OR_RETURN(const DeviceSpan list, Scratch(bytes.size()));
  BANYAN_RETURN_IF_ERROR(CopyIn(bytes, list));
  kernels_.move_kv(*device_, {.cache = KvOf(*args.cache),
                              .slots = list,
                              .first_slot = args.first_slot});
  return absl::OkStatus();
}

absl::Status CudaBackend::Attention(absl::Span<const AttentionArgs> sequences) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const AttentionArgs& args : sequences) {
    AttentionLaunch launch = {
        .queries = MatrixOf(args.queries),
        .heads = args.heads,
        .prefix = KvOf(*args.prefix),
        .committed = args.committed,
        .pending = KvOf(*args.pending),
        .pending_slot = args.pending_slot,
        .first_pending = args.first_pending,
        .visible = ListOf(args.visible,
                          static_cast<std::size_t>(args.queries.rows) *
                              static_cast<std::size_t>(args.visible_words)),
        .visible_words = args.visible_words,
        .window = args.window,
        .y = MatrixOf(args.y)};
    BANYAN_ASSIGN_OR_RETURN(launch.scratch,
                            Scratch(kernels_.attention_scratch(launch)));
    kernels_.attention(*device_, launch);
  }
  return absl::OkStatus();
}

absl::StatusOr<LogitRow> CudaBackend::Fetch(const LogitRow& logits,
                                            std::unique_ptr<Buffer>& buffer) {
  const DeviceMatrix row = MatrixOf(logits.row);
  BANYAN_ASSIGN_OR_RETURN(buffer, host::Allocate(row.numbers.bytes));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    BANYAN_RETURN_IF_ERROR(CopyOut(
        row.numbers, absl::MakeSpan(host::Bytes(*buffer), row.numbers.bytes)));
  }
  return LogitRow{{buffer.get(), 0, 1, logits.row.columns,
                   static_cast<std::size_t>(logits.row.columns)},
                  logits.used};
}

absl::StatusOr<Distribution> CudaBackend::Law(const LawArgs& args) {
  std::unique_ptr<Buffer> buffer;
  LawArgs on_host = args;
  BANYAN_ASSIGN_OR_RETURN(on_host.logits, Fetch(args.logits, buffer));
  return host::Law(on_host);
}

absl::StatusOr<std::vector<TokenLogit>> CudaBackend::Best(
    const BestArgs& args) {
  std::unique_ptr<Buffer> buffer;
  BANYAN_ASSIGN_OR_RETURN(const LogitRow row, Fetch(args.logits, buffer));
  BANYAN_ASSIGN_OR_RETURN(const std::vector<double> logits, host::Logits(row));
  return BestLogits(logits, args.k);
}

}  // namespace banyan
