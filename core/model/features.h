// Features: the target's hidden states at consecutive tokens of a text.
#ifndef BANYAN_CORE_MODEL_FEATURES_H_
#define BANYAN_CORE_MODEL_FEATURES_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "core/base/check.h"

namespace banyan {

struct Features {
  std::vector<int> taps;  // where they were taken (core/model/model.h)
  int hidden_size = 0;
  int rows = 0;
  std::vector<float> values;  // by row, then tap

  // The state at one of `taps`, which must be among them.
  absl::Span<const float> At(int tap, int row) const {
    const auto found = std::find(taps.begin(), taps.end(), tap);
    Check(found != taps.end(), "features that were not asked for");
    Check(row >= 0 && row < rows, "a row of features that is not there");
    const auto number = static_cast<std::size_t>(row) * taps.size() +
                        static_cast<std::size_t>(found - taps.begin());
    const auto size = static_cast<std::size_t>(hidden_size);
    return absl::MakeConstSpan(values).subspan(number * size, size);
  }
};

}  // namespace banyan

#endif  // BANYAN_CORE_MODEL_FEATURES_H_
