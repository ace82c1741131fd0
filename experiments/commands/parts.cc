#include "experiments/commands/parts.h"

#include "drafters/catalogue.h"
#include "experiments/metrics/catalogue.h"
#include "tree/policies/catalogue.h"
#include "verifiers/catalogue.h"

namespace banyan {

Parts AddOwnParts() {
  Parts parts = OwnParts();
  AddDrafters(parts.drafters);
  AddPolicies(parts.policies);
  AddVerifiers(parts.verifiers);
  AddMetrics(parts.metrics);
  return parts;
}

}  // namespace banyan
