#include "core/checkpoint/families/qwen3.h"

#include "core/checkpoint/architecture.h"
#include "core/checkpoint/config_reader.h"
#include "core/checkpoint/families/common.h"
#include "core/checkpoint/families/llama_kind.h"

namespace banyan {

Architecture ReadQwen3(ConfigReader& in, HasTensor has_tensor) {
  LlamaKind kind = {.family = "qwen3", .head_dim = 128, .head_norms = true};
  kind.query_key_value_bias = in.Flag("attention_bias", false);
  kind.output_bias = kind.query_key_value_bias;
  Architecture result = ReadLlamaKind(in, has_tensor, kind);
  ReadWindows(in, result.layers);
  return result;
}

}  // namespace banyan
