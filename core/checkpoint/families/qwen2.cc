#include "core/checkpoint/families/qwen2.h"

#include "core/checkpoint/architecture.h"
#include "core/checkpoint/config_reader.h"
#include "core/checkpoint/families/common.h"
#include "core/checkpoint/families/llama_kind.h"

namespace banyan {

Architecture ReadQwen2(ConfigReader& in, HasTensor has_tensor) {
  Architecture result = ReadLlamaKind(
      in, has_tensor, {.family = "qwen2", .query_key_value_bias = true});
  ReadWindows(in, result.layers);
  return result;
}

}  // namespace banyan
