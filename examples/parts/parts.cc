// The parts that my_banyan adds to the catalogues.
#include "drafters/row.h"
#include "experiments/commands/program.h"
#include "tree/policies/row.h"
#include "verifiers/row.h"

banyan::VerifierRow FirstDrawsRow();
banyan::DrafterRow AgainRow();
banyan::PolicyRow CombRow();

namespace banyan {

Parts OwnParts() {
  return {.drafters = {AgainRow()},
          .policies = {CombRow()},
          .verifiers = {FirstDrawsRow()}};
}

}  // namespace banyan
