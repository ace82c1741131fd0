// The verifiers, by name.
#ifndef BANYAN_VERIFIERS_CATALOGUE_H_
#define BANYAN_VERIFIERS_CATALOGUE_H_

#include <memory>

#include "core/base/common.h"
#include "core/base/params.h"
#include "verifiers/row.h"
#include "verifiers/verifier.h"

namespace banyan {

absl::Span<const VerifierRow> VerifierCatalogue();

// Adds parts from outside the project to the catalogue (AppendRows). Call it
// before anything reads the catalogue.
void AddVerifiers(absl::Span<const VerifierRow> rows);

// Builds the verifier a section describes: `name` and the verifier's own keys.
absl::StatusOr<std::unique_ptr<Verifier>> BuildVerifier(const Params& section);

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_CATALOGUE_H_
