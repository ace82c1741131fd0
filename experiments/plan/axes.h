// The axes of an experiment's matrix.
#ifndef BANYAN_EXPERIMENTS_PLAN_AXES_H_
#define BANYAN_EXPERIMENTS_PLAN_AXES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "experiments/plan/resolve.h"

namespace banyan {

struct Setting {
  std::string path;
  Params value;
};

struct AxisValue {
  std::string label;
  std::vector<Setting> settings;
};

struct MatrixAxis {
  std::string name;
  std::string method;  // the one it concerns; empty: all
  std::vector<AxisValue> values;
};

// Null is no axes.
absl::StatusOr<std::vector<MatrixAxis>> ReadAxes(const Params* matrix);

// Whether a baseline may differ from one value of the axis to another.
bool ConcernsBaselines(const MatrixAxis& axis);

// Refuses settings that would do nothing: of what cannot vary, of what another
// axis, a setting from the command line or the experiment's own models set too.
absl::Status CheckAxes(const std::vector<MatrixAxis>& axes,
                       const Settings& settings, const Params& root);

// The most cells of an experiment: with a workload of one prompt and a second
// each it takes hours.
inline constexpr int kMostCells = 10'000;

// Refuses more than kMostCells, at `place`: of each combination of the axes'
// values, with each seed, plain decoding and every method.
absl::Status CheckCells(const std::vector<MatrixAxis>& axes,
                        const std::vector<std::string>& methods,
                        std::size_t seeds, const Params& place);

// Calls `visit` with one value of each axis, the last axis fastest; once with
// none if there is no axis.
void ForEachCombination(
    const std::vector<const MatrixAxis*>& axes,
    absl::FunctionRef<void(const std::vector<const AxisValue*>&)> visit);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_AXES_H_
