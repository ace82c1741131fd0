#include "core/json/ordered_json.h"

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"
#include "core/json/json_at.h"

namespace banyan {

absl::StatusOr<nlohmann::ordered_json> ParseOrderedJson(
    absl::string_view text, const std::string& file) {
  BANYAN_RETURN_IF_ERROR(JsonTree::Parse(text, file).status());
  // Nothing is left for the library to refuse.
  return nlohmann::ordered_json::parse(text.begin(), text.end());
}

}  // namespace banyan
