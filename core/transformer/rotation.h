// Rotation: the angles by which rotary positions turn queries and keys.
#ifndef BANYAN_CORE_TRANSFORMER_ROTATION_H_
#define BANYAN_CORE_TRANSFORMER_ROTATION_H_

#include <cstddef>
#include <vector>

#include "core/checkpoint/architecture.h"

namespace banyan {

// Immutable.
class Rotation {
 public:
  Rotation(const Rope& rope, int head_dim);

  // Writes the cosines, then the sines, of a position's head_dim / 2 angles.
  //
  // Frequencies, and angles as their product with the position, are rounded to
  // 32-bit floats: so were the models trained, and at long contexts exact
  // angles would be others.
  void Write(int position, float* out) const;

 private:
  std::vector<float> frequencies_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_ROTATION_H_
