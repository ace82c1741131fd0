// The verifiers, by name.
#ifndef BANYAN_VERIFIERS_CATALOGUE_H_
#define BANYAN_VERIFIERS_CATALOGUE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "verifiers/verifier.h"

namespace banyan {

struct VerifierRow {
  absl::string_view name;
  absl::string_view sentence;
  // Reads all keys but `name`; every key has a default.
  absl::StatusOr<std::unique_ptr<Verifier>> (*build)(ParamsReader& in);
  // Sections beside the default one that conformance proves, in YAML.
  std::vector<absl::string_view> variants = {};
};

absl::Span<const VerifierRow> VerifierCatalogue();

// Builds the verifier a section describes: `name` and the verifier's own keys.
absl::StatusOr<std::unique_ptr<Verifier>> BuildVerifier(const Params& section);

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_CATALOGUE_H_
