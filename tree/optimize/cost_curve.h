// CostCurve: how long a pass takes by how many tokens it holds, as measured.
//
//   auto curve = CostCurve::FromMap("target_ms", {{1, 10.0}, {8, 10.5}});
//   curve->At(4)  -> 10.21..., linear between the keys
//   curve->At(9)  -> an error: nothing was measured beyond 8 tokens
#ifndef BANYAN_TREE_OPTIMIZE_COST_CURVE_H_
#define BANYAN_TREE_OPTIMIZE_COST_CURVE_H_

#include <map>
#include <string>
#include <utility>

#include "core/base/common.h"
#include "core/base/params.h"

namespace banyan {

class CostCurve {
 public:
  CostCurve() = default;  // nothing measured: every reading fails
  // `name` is what messages call the curve. An error, naming the entry, if
  // there is none, a key is below 1, or a value is not positive and finite.
  static absl::StatusOr<CostCurve> FromMap(std::string name,
                                           std::map<int, double> ms);
  // The curve that a file states, a map from tokens to milliseconds in the
  // order of its keys. Errors as above, each at its entry in the file.
  static absl::StatusOr<CostCurve> FromParams(std::string name,
                                              const Params& value);

  // The milliseconds of a pass over `tokens` tokens. An error below the first
  // key and beyond the last; it names the key that is missing.
  absl::StatusOr<double> At(int tokens) const;
  // The least value of the curve. Requires one.
  double cheapest() const;

 private:
  CostCurve(std::string name, std::map<int, double> ms)
      : name_(std::move(name)), ms_(std::move(ms)) {}

  std::string name_ = "the cost curve";
  std::map<int, double> ms_;
};

}  // namespace banyan

#endif  // BANYAN_TREE_OPTIMIZE_COST_CURVE_H_
