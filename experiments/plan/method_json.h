// A method in JSON, as every command writes it.
#ifndef BANYAN_EXPERIMENTS_PLAN_METHOD_JSON_H_
#define BANYAN_EXPERIMENTS_PLAN_METHOD_JSON_H_

#include "core/json/json_value.h"
#include "decode/method.h"

namespace banyan {

// Returns a list: drafter, policy and draw kind of each trunk.
JsonValue TrunksToJson(const Method& method);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_METHOD_JSON_H_
