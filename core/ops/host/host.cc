#include "core/ops/host/host.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "core/base/check.h"
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

void CheckStore(const StoreKvArgs& args) {
  Check(args.first_slot + args.length.most + args.keys.rows <=
            args.cache->capacity,
        "keys and values without room");
}

void CheckMove(const MoveKvArgs& args) {
  const KvCache& to = *args.cache;
  const KvCache& from = args.from == nullptr ? to : *args.from;
  Check(args.from != args.cache && from.kv_heads == to.kv_heads &&
            from.head_dim == to.head_dim,
        "slots moved from a cache of another shape, or from itself");
  int goal = args.first_slot;
  for (int slot : args.slots) {
    Check(slot >= 0 && slot < from.capacity && goal < to.capacity,
          "slots moved from or to where there are none");
    Check(args.from != nullptr || goal <= slot, "slots moved upwards");
    ++goal;
  }
}

void MoveKvHead(const MoveKvArgs& args, int head, int first, int end) {
  const KvView to(*args.cache);
  const KvView from(args.from == nullptr ? *args.cache : *args.from);
  const int* slots = args.slots.data();
  for (int i = first; i < end;) {
    // Slots that follow each other lie side by side up to the end of a panel.
    const int slot = slots[i];
    const int goal = args.first_slot + i;
    const int most =
        std::min({kLane - slot % kLane, kLane - goal % kLane, end - i});
    int run = 1;
    while (run < most && slots[i + run] == slot + run) ++run;
    i += run;
    if (args.from == nullptr && slot == goal) continue;
    const float* key = from.Key(head, slot);
    float* moved = to.Key(head, goal);
    const auto size = static_cast<std::size_t>(run);
    if (run == kLane)
      std::copy_n(key, from.head_dim * kLane, moved);
    else
      for (std::size_t d = 0; d < from.head_dim * kLane; d += kLane)
        for (std::size_t j = 0; j < size; ++j) moved[d + j] = key[d + j];
    std::copy_n(from.Value(head, slot), size * from.head_dim,
                to.Value(head, goal));
  }
}

void CheckMass(const AttentionMassArgs& args) {
  Check(args.committed >= 1 && args.committed <= args.prefix->capacity,
        "the mass of slots that are not there");
  Check(args.chunk >= 1 &&
            args.y.columns == ChunksOf(args.committed, args.chunk) &&
            args.y.rows == args.queries.rows * args.prefix->kv_heads,
        "a mass of another shape");
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
