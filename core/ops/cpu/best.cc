// Best on the processor: one look at each float of the row, a vector at a time.
// The k best so far stand in a heap with the worst of them on top; a vector of
// which none is larger than that one is passed over, as nearly all are.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/check.h"
#include "core/base/token.h"
#include "core/ops/cpu/cpu_backend.h"
#include "core/ops/device_ops.h"
#include "core/ops/host/host.h"
#include "core/ops/op_args.h"
#include "core/prob/sampling_rule.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/ops/cpu/best.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which Highway wants.
#include "core/ops/cpu/simd-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace banyan::HWY_NAMESPACE {
namespace {

// The first vector, from `first` on, of which a float is larger than `worst` or
// no number; at `used` or beyond if there is none.
std::size_t NextToLookAt(const float* row, std::size_t first, std::size_t used,
                         float worst) {
  const FloatTag d;
  const Float limit = hn::Set(d, worst);
  const Float infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  for (; first < used; first += kWidth) {
    const Float logits = LoadUpTo(row, first, used);
    if (!hn::AllFalse(d, hn::Gt(logits, limit)) ||
        !hn::AllTrue(d, hn::Lt(hn::Abs(logits), infinity)))
      break;
  }
  return first;
}

}  // namespace
}  // namespace banyan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace banyan {
namespace {

HWY_EXPORT(NextToLookAt);

bool Better(const TokenLogit& a, const TokenLogit& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

}  // namespace

absl::StatusOr<std::vector<TokenLogit>> CpuBackend::Best(const BestArgs& args) {
  Check(args.k >= 1, "the best of a row are at least one");
  const auto k = static_cast<std::size_t>(args.k);
  const auto used = static_cast<std::size_t>(args.logits.used);
  const float* row = host::Row(args.logits.row, 0);
  std::vector<TokenLogit> best;
  best.reserve(std::min(k, used));
  // The worst of the k best, once k were found.
  float worst = -std::numeric_limits<float>::infinity();
  for (std::size_t next = 0; next < used;) {
    std::size_t i =
        HWY_DISPATCH_TABLE(NextToLookAt)[kernel_](row, next, used, worst);
    next = std::min(i + kLane, used);  // no vector is wider
    for (; i < next; ++i) {
      if (!std::isfinite(row[i])) return CheckFinite({row, used});
      if (row[i] <= worst)
        continue;  // on a tie the lower token is there already
      if (best.size() == k) {
        std::pop_heap(best.begin(), best.end(), Better);
        best.pop_back();
      }
      best.push_back({static_cast<TokenId>(i), row[i]});
      std::push_heap(best.begin(), best.end(), Better);
      if (best.size() == k) worst = static_cast<float>(best.front().logit);
    }
  }
  std::sort_heap(best.begin(), best.end(), Better);
  return best;
}

}  // namespace banyan
#endif  // HWY_ONCE
