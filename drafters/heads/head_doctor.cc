#include "drafters/heads/head_doctor.h"

#include <cmath>
#include <cstddef>

#include "drafters/heads/agreement.h"

namespace banyan {
namespace {

// A reading is better if it gains so much of the overlap at some step, and what
// it loses elsewhere is less.
constexpr double kClearly = 0.03;

}  // namespace

const Reading* Examination::Better() const {
  const Reading& said = readings.front();
  const Reading* best = nullptr;
  double most = kClearly;
  for (const Reading& other : readings) {
    if (&other == &said || !other.error.empty() ||
        other.overlap.front() < kWeakOverlap)
      continue;
    double gain = 0;
    for (std::size_t step = 0; step < other.overlap.size(); ++step) {
      const double more =
          other.overlap[step] - (said.error.empty() ? said.overlap[step] : 0);
      gain = std::fabs(more) > std::fabs(gain) ? more : gain;
    }
    if (gain > most) {
      most = gain;
      best = &other;
    }
  }
  return best;
}

bool Examination::IsWeak() const {
  const Reading& said = readings.front();
  return !said.error.empty() || said.overlap.front() < kWeakOverlap;
}

}  // namespace banyan
