#include "core/ops/host/host.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/device/buffer.h"
#include "core/device/host_buffer.h"
#include "core/ops/attention.h"
#include "core/ops/copy.h"
#include "core/ops/kv_cache.h"
#include "core/ops/read_row.h"
#include "core/ops/tensor.h"
#include "core/prob/distribution.h"
#include "core/prob/logits.h"
#include "core/prob/sampling_rule.h"

namespace banyan::host {

absl::StatusOr<std::unique_ptr<Buffer>> Allocate(std::size_t bytes) {
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Buffer> buffer,
                          HostBuffer::Allocate(bytes));
  return buffer;
}

absl::Status Upload(absl::Span<const std::byte> from, Buffer& to,
                    std::size_t offset) {
  Check(offset + from.size() <= to.bytes(), "an upload past the buffer's end");
  if (!from.empty()) std::memcpy(Bytes(to) + offset, from.data(), from.size());
  return absl::OkStatus();
}

absl::Status Download(const Buffer& from, std::size_t offset,
                      absl::Span<std::byte> to) {
  Check(offset + to.size() <= from.bytes(), "a download past the buffer's end");
  const auto* data = static_cast<const HostBuffer&>(from).data();
  if (!to.empty()) std::memcpy(to.data(), data + offset, to.size());
  return absl::OkStatus();
}

absl::Status ReserveKv(KvCache& cache, int slots, int used) {
  if (slots <= cache.capacity) return absl::OkStatus();
  KvCache grown = {.kv_heads = cache.kv_heads,
                   .head_dim = cache.head_dim,
                   .capacity = PadToLane(slots)};
  const auto numbers = static_cast<std::size_t>(grown.kv_heads) *
                           static_cast<std::size_t>(grown.head_dim) *
                           static_cast<std::size_t>(grown.capacity) +
                       kLane;
  BANYAN_ASSIGN_OR_RETURN(grown.keys, Allocate(numbers * sizeof(float)));
  BANYAN_ASSIGN_OR_RETURN(grown.values, Allocate(numbers * sizeof(float)));
  if (used > 0) {
    const KvView from(cache);
    const KvView to(grown);
    const std::size_t keys =
        static_cast<std::size_t>(PadToLane(used)) * from.head_dim;
    const std::size_t values = static_cast<std::size_t>(used) * from.head_dim;
    for (int head = 0; head < cache.kv_heads; ++head) {
      std::copy_n(from.KeyHead(head), keys, to.KeyHead(head));
      std::copy_n(from.ValueHead(head), values, to.ValueHead(head));
    }
  }
  cache = std::move(grown);
  return absl::OkStatus();
}

AttentionArgs Settled(const AttentionArgs& args) {
  AttentionArgs settled = args;
  settled.committed += LiveNumber(args.length);
  settled.pending_slot += LiveNumber(args.length);
  settled.length = {};
  return settled;
}

void StoreKvHead(const StoreKvArgs& args, int head) {
  const KvView view(*args.cache);
  const int first_slot = args.first_slot + LiveNumber(args.length);
  Check(first_slot + args.keys.rows <= args.cache->capacity,
        "keys and values without room");
  const std::size_t at = static_cast<std::size_t>(head) * view.head_dim;
  for (int i = 0; i < args.keys.rows; ++i) {
    const float* keys = Row(args.keys, i) + at;
    float* key = view.Key(head, first_slot + i);
    for (std::size_t d = 0; d < view.head_dim; ++d) key[d * kLane] = keys[d];
    std::copy_n(Row(args.values, i) + at, view.head_dim,
                view.Value(head, first_slot + i));
  }
}

absl::Status MoveKv(const MoveKvArgs& args) {
  const KvView view(*args.cache);
  for (int head = 0; head < args.cache->kv_heads; ++head) {
    int to = args.first_slot;
    for (int from : args.slots) {
      Check(to <= from && from < args.cache->capacity, "slots moved upwards");
      if (to != from) {
        const float* key = view.Key(head, from);
        float* moved = view.Key(head, to);
        for (std::size_t d = 0; d < view.head_dim; ++d)
          moved[d * kLane] = key[d * kLane];
        std::copy_n(view.Value(head, from), view.head_dim,
                    view.Value(head, to));
      }
      ++to;
    }
  }
  return absl::OkStatus();
}

absl::Status Copy(const CopyArgs& args) {
  const bool chosen = args.rows.buffer != nullptr;
  Check((chosen || args.x.rows == args.y.rows) &&
            args.x.columns == args.y.columns,
        "rows copied to another shape");
  for (int i = 0; i < args.y.rows; ++i) {
    const int from = chosen ? Data(args.rows)[i] : i;
    if (from >= 0)
      std::copy_n(Row(args.x, from), args.x.columns, Row(args.y, i));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> Logits(const LogitRow& logits) {
  const float* row = Row(logits.row, 0);
  BANYAN_RETURN_IF_ERROR(
      CheckFinite({row, static_cast<std::size_t>(logits.used)}));
  std::vector<double> numbers(row, row + logits.row.columns);
  std::fill(numbers.begin() + logits.used, numbers.end(),
            -std::numeric_limits<double>::infinity());
  return numbers;
}

absl::StatusOr<Distribution> Law(const LawArgs& args) {
  BANYAN_ASSIGN_OR_RETURN(std::vector<double> logits, Logits(args.logits));
  return args.rule->ApplyTo(std::move(logits), args.history, args.path);
}

}  // namespace banyan::host
