// VerifierRow: what a verifier says of itself, beside its code. The catalogue
// is a list of these.
#ifndef BANYAN_VERIFIERS_ROW_H_
#define BANYAN_VERIFIERS_ROW_H_

#include <functional>
#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/base/params.h"
#include "verifiers/verifier.h"

namespace banyan {

using BuiltVerifier = absl::StatusOr<std::unique_ptr<Verifier>>;

struct VerifierRow {
  absl::string_view name;
  absl::string_view sentence;
  // All keys that `build` reads, but `name`; every key has a default, but those
  // of classes of Python, which `variants` then states.
  std::vector<KeyRow> keys = {};
  std::function<BuiltVerifier(ParamsReader& in)> build;
  // Sections beside the default one that conformance proves, in YAML.
  std::vector<absl::string_view> variants = {};
};

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_ROW_H_
