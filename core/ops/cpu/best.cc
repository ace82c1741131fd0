// Best on the processor: whether all are numbers, then one look at each float
// of the row. The k best so far stand in a heap with the worst of them on top,
// and what is not larger than that one is passed over, as nearly all are.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/ops/cpu/cpu_backend.h"
#include "core/ops/host/host.h"
#include "core/ops/read_row.h"
#include "core/prob/logits.h"

namespace banyan {
namespace {

bool Better(const TokenLogit& a, const TokenLogit& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

}  // namespace

absl::StatusOr<std::vector<TokenLogit>> CpuBackend::Best(const BestArgs& args) {
  Check(args.k >= 1, "the best of a row are at least one");
  const auto k = static_cast<std::size_t>(args.k);
  const float* row = host::Row(args.logits.row, 0);
  BANYAN_RETURN_IF_ERROR(
      CheckFinite({row, static_cast<std::size_t>(args.logits.used)}));
  std::vector<TokenLogit> best;
  best.reserve(std::min(k, static_cast<std::size_t>(args.logits.used)));
  // Of the k, once there are so many.
  float worst = -std::numeric_limits<float>::infinity();
  for (TokenId token = 0; token < args.logits.used; ++token) {
    const float logit = row[token];
    if (logit <= worst) continue;  // on a tie the lower token is there already
    if (best.size() == k) {
      std::pop_heap(best.begin(), best.end(), Better);
      best.pop_back();
    }
    best.push_back({token, logit});
    std::push_heap(best.begin(), best.end(), Better);
    if (best.size() == k) worst = static_cast<float>(best.front().logit);
  }
  std::sort_heap(best.begin(), best.end(), Better);
  return best;
}

}  // namespace banyan
