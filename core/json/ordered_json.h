// A JSON text for those who change it and write it again: the library's tree,
// whose keys stay in their order.
#ifndef BANYAN_CORE_JSON_ORDERED_JSON_H_
#define BANYAN_CORE_JSON_ORDERED_JSON_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace banyan {

// Refuses what core/json/json_reader.h says. `file` names the text in messages.
absl::StatusOr<nlohmann::ordered_json> ParseOrderedJson(
    absl::string_view text, const std::string& file);

}  // namespace banyan

#endif  // BANYAN_CORE_JSON_ORDERED_JSON_H_
