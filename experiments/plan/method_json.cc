#include "experiments/plan/method_json.h"

#include <string>

#include "core/json/json_value.h"
#include "decode/method.h"
#include "tree/draft_tree.h"

namespace banyan {

JsonValue TrunksToJson(const Method& method) {
  JsonValue trunks = JsonValue::List();
  for (const Trunk& trunk : method.trunks)
    trunks.Add({{"drafter", trunk.drafter_name},
                {"policy", trunk.policy_name},
                {"draws", std::string(Name(trunk.draw_kind))}});
  return trunks;
}

}  // namespace banyan
