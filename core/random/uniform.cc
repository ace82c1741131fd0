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
  double total = 0;
  for (double weight : weights.values) total += weight;
  for (int index : weights.left_out) total -= weights.values[index];
  Check(std::isfinite(total), "weights are not finite");

  double sum = 0;
  int last = -1;  // rounding may leave the sum short of its own total
  for (int i = 0; i < size; ++i) {
    if (!(weights.values[i] > 0)) continue;
    if (!weights.left_out.empty() && LeftOut(weights, i)) continue;
    sum += weights.values[i];
    last = i;
    if (sum > u * total) return i;
  }
  Check(last >= 0, "draw from a list without weight");
  return last;
}

}  // namespace banyan
