// Point-mass verification: every candidate judged as a certainty.
#ifndef BANYAN_VERIFIERS_POINT_MASS_H_
#define BANYAN_VERIFIERS_POINT_MASS_H_

#include "verifiers/row.h"

namespace banyan {

// No keys.
VerifierRow PointMassRow();

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_POINT_MASS_H_
