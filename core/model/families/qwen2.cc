#include "core/model/families/qwen2.h"

#include "core/model/architecture.h"
#include "core/model/config_reader.h"
#include "core/model/families/common.h"
#include "core/model/families/llama_kind.h"

namespace banyan {

Architecture ReadQwen2(ConfigReader& in, HasTensor) {
  Architecture result =
      ReadLlamaKind(in, {.family = "qwen2", .query_key_value_bias = true});
  ReadWindows(in, result.layers);
  return result;
}

}  // namespace banyan
