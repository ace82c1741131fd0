#include "experiments/plan/method_json.h"

#include <string>

#include "decode/method.h"
#include "nlohmann/json.hpp"
#include "tree/draft_tree.h"

namespace banyan {

nlohmann::ordered_json TrunksToJson(const Method& method) {
  auto trunks = nlohmann::ordered_json::array();
  for (const Trunk& trunk : method.trunks)
    trunks.push_back({{"drafter", trunk.drafter_name},
                      {"policy", trunk.policy_name},
                      {"law", std::string(Name(trunk.law))}});
  return trunks;
}

}  // namespace banyan
