#include "core/random/uniform.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/weights.h"

namespace banyan {
namespace {

bool LeftOut(const Weights& weights, int index) {
  return std::find(weights.left_out.begin(), weights.left_out.end(), index) !=
         weights.left_out.end();
}

}  // namespace

int DrawWith(double u, const Weights& weights) {
  const int size = static_cast<int>(weights.values.size());
  // Not the sum of all less what is left out: that could lose every digit.
  double total = 0;
  int last = -1;
  for (int i = 0; i < size; ++i) {
    if (LeftOut(weights, i)) continue;
    Check(weights.values[i] >= 0, "a weight is negative or NaN");
    total += weights.values[i];
    if (weights.values[i] > 0) last = i;
  }
  Check(std::isfinite(total), "weights are not finite");
  Check(last >= 0, "draw from a list without weight");

  double sum = 0;
  for (int i = 0; i < last; ++i) {
    if (LeftOut(weights, i)) continue;
    sum += weights.values[i];
    if (sum > u * total) return i;
  }
  return last;  // also where u times the smallest total rounds up to it
}

}  // namespace banyan
