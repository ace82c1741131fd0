// AttentionMass on the processor. As in attention.cc, one task is one key head
// with some rows, whose query heads are rows too.
//
// The order of sums: that of scores and of all p in scores-inl.h, the lanes of
// the latter added in halves. The p of a chunk are added over sixteen lanes as
// far as whole sixteens go, its slot i in lane i % 16, the lanes in halves;
// what is left follows one by one. Quotients of a chunk are added head by head.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "core/ops/cpu/cpu_backend.h"
#include "core/ops/cpu/pieces.h"
#include "core/ops/host/host.h"
#include "core/ops/op_args.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/ops/cpu/attention_mass.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which Highway wants.
#include "core/ops/cpu/scores-inl.h"
#include "core/ops/cpu/simd-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace banyan::HWY_NAMESPACE {
namespace {

float SumChunk(const float* p, std::size_t size) {
  const std::size_t whole = size / kLane * kLane;
  float sum = 0;
  if (whole > 0) {
    alignas(64) float lanes[kLane] = {};
    SumLanes(p, whole, lanes);
    sum = AddLanes(lanes);
  }
  for (std::size_t i = whole; i < size; ++i) sum += p[i];
  return sum;
}

// Adds to `masses` what one query gives each chunk. `scores` have room for a
// whole sixteen of slots, `sums` for the chunks.
void AddQuery(const AttentionMassArgs& args, float* scores, float* sums,
              float* masses) {
  const FloatTag d;
  const auto committed = static_cast<std::size_t>(args.committed);
  const auto chunk = static_cast<std::size_t>(args.chunk);
  const float largest =
      Largest(scores, committed, -std::numeric_limits<float>::infinity());
  WeighRow(scores, committed, hn::Set(d, largest));
  std::fill(scores + committed, scores + PadToLane(args.committed), 0.0F);
  alignas(64) float lanes[kLane] = {};
  SumLanes(scores, committed, lanes);
  const Float total = hn::Set(d, AddLanes(lanes));
  const auto chunks = static_cast<std::size_t>(args.y.columns);
  // A slot alone is its chunk's sum.
  const float* parts = chunk == 1 ? scores : sums;
  for (std::size_t c = 0; chunk > 1 && c < chunks; ++c)
    sums[c] =
        SumChunk(scores + c * chunk, std::min(chunk, committed - c * chunk));
  for (std::size_t c = 0; c < chunks; c += kWidth)
    StoreUpTo(hn::Add(LoadUpTo(masses, c, chunks),
                      hn::Div(LoadUpTo(parts, c, chunks), total)),
              masses, c, chunks);
}

void FindMasses(const AttentionMassArgs& args, const HeadRows& part) {
  const KvCache& cache = *args.prefix;
  const int group = args.heads / cache.kv_heads;
  const int rows = part.count * group;
  const auto size = static_cast<std::size_t>(cache.head_dim);
  const auto stride = static_cast<std::size_t>(PadToLane(args.committed));
  const auto all = static_cast<std::size_t>(rows);
  const auto memory = std::make_unique_for_overwrite<float[]>(
      all * (size + stride) + static_cast<std::size_t>(args.y.columns));
  float* scores = memory.get() + all * size;
  float* sums = scores + all * stride;
  ReadQueries(args.queries, part, static_cast<std::size_t>(group) * size,
              memory.get());
  MultiplyKeys(cache, part.kv_head, 0, args.committed,
               {memory.get(), rows, size, scores, stride});
  for (int i = 0; i < rows; ++i)
    AddQuery(args, scores + static_cast<std::size_t>(i) * stride, sums,
             host::Row(args.y, (part.first + i / group) * cache.kv_heads +
                                   part.kv_head));
}

}  // namespace
}  // namespace banyan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace banyan {
namespace {

HWY_EXPORT(FindMasses);

}  // namespace

absl::Status CpuBackend::AttentionMass(const AttentionMassArgs& args) {
  host::CheckMass(args);
  const int rows = args.queries.rows;
  const int kv_heads = args.prefix->kv_heads;
  for (int row = 0; row < args.y.rows; ++row)
    std::fill_n(host::Row(args.y, row), args.y.columns, 0.0F);
  const std::vector<HeadRows> parts =
      RowsByHead(rows, args.heads, kv_heads, threads());
  Split(static_cast<int>(parts.size()),
        2.0 * rows * args.committed * args.heads * args.prefix->head_dim,
        [&](int first, int end) {
          for (int i = first; i < end; ++i) HWY_DISPATCH_TABLE(FindMasses)
          [kernel_](args, parts[static_cast<std::size_t>(i)]);
        });
  return absl::OkStatus();
}

}  // namespace banyan
#endif  // HWY_ONCE
