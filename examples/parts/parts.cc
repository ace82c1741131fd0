// The parts that my_banyan adds to the catalogues.
#include "experiments/commands/parts.h"

#include "drafters/row.h"
#include "verifiers/row.h"

banyan::VerifierRow FirstDrawsRow();
banyan::DrafterRow AgainRow();

namespace banyan {

Parts OwnParts() {
  return {.drafters = {AgainRow()}, .verifiers = {FirstDrawsRow()}};
}

}  // namespace banyan
