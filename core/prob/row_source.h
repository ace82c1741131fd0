// Where a verifier reads the target's laws, by node of the draft tree.
#ifndef BANYAN_CORE_PROB_ROW_SOURCE_H_
#define BANYAN_CORE_PROB_ROW_SOURCE_H_

#include "core/prob/distribution.h"

namespace banyan {

class RowSource {
 public:
  virtual ~RowSource() = default;

  // The target's law over the token after `node`, as plain decoding would use
  // it: normalised, after temperature, truncation, penalties and masks. Made
  // when first asked for; asking again gives the same row.
  virtual const Distribution& Row(int node) = 0;
};

}  // namespace banyan

#endif  // BANYAN_CORE_PROB_ROW_SOURCE_H_
