// RowSource: gives a verifier the target distributions, by node of the draft
// tree.
#ifndef BANYAN_CORE_PROB_ROW_SOURCE_H_
#define BANYAN_CORE_PROB_ROW_SOURCE_H_

#include "core/prob/distribution.h"

namespace banyan {

class RowSource {
 public:
  virtual ~RowSource() = default;

  // Returns the target distribution of the token after `node`, as plain
  // decoding uses it: normalised, after temperature, truncation, penalties and
  // masks. The first call computes the row; later calls return the same row.
  virtual const Distribution& Row(int node) = 0;
};

}  // namespace banyan

#endif  // BANYAN_CORE_PROB_ROW_SOURCE_H_
