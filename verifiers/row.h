// VerifierRow: what a verifier says of itself, beside its code. The catalogue
// is a list of these.
#ifndef BANYAN_VERIFIERS_ROW_H_
#define BANYAN_VERIFIERS_ROW_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/params.h"
#include "verifiers/verifier.h"

namespace banyan {

struct VerifierRow {
  absl::string_view name;
  absl::string_view sentence;
  // Reads all keys but `name`, with a sentence each; every key has a default.
  absl::StatusOr<std::unique_ptr<Verifier>> (*build)(ParamsReader& in);
  // Sections beside the default one that conformance proves, in YAML.
  std::vector<absl::string_view> variants = {};
};

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_ROW_H_
