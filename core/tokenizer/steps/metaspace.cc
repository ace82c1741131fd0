#include "core/tokenizer/steps/metaspace.h"

#include <string>

#include "absl/status/statusor.h"
#include "core/base/status_macros.h"
#include "core/json/json_at.h"

namespace banyan {

absl::StatusOr<Metaspace> ReadMetaspace(const JsonAt& json) {
  BANYAN_RETURN_IF_ERROR(
      json.HasOnly({"type", "replacement", "prepend_scheme", "split",
                    "add_prefix_space", "str_rep"}));
  Metaspace result;
  BANYAN_ASSIGN_OR_RETURN(result.replacement,
                          json.At("replacement").Character());
  BANYAN_ASSIGN_OR_RETURN(result.splits, json.At("split").BoolOr(true));
  const JsonAt older = json.At("add_prefix_space");
  BANYAN_ASSIGN_OR_RETURN(const bool adds, older.BoolOr(true));
  const JsonAt scheme = json.At("prepend_scheme");
  BANYAN_ASSIGN_OR_RETURN(const std::string name,
                          scheme.StringOr(adds ? "always" : "never"));
  if (name == "first") {
    result.prepend = Metaspace::Prepend::kFirst;
  } else if (name == "never") {
    result.prepend = Metaspace::Prepend::kNever;
  } else if (name != "always") {
    return scheme.Expected("first, always or never");
  }
  if (!adds && result.prepend != Metaspace::Prepend::kNever)
    return older.Error("false contradicts prepend_scheme; expected never");
  return result;
}

}  // namespace banyan
