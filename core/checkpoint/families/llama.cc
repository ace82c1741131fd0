#include "core/checkpoint/families/llama.h"

#include "core/checkpoint/architecture.h"
#include "core/checkpoint/config_reader.h"
#include "core/checkpoint/families/common.h"
#include "core/checkpoint/families/llama_kind.h"

namespace banyan {

Architecture ReadLlama(ConfigReader& in, HasTensor has_tensor) {
  LlamaKind kind = {.family = "llama"};
  kind.query_key_value_bias = in.Flag("attention_bias", false);
  kind.output_bias = kind.query_key_value_bias;
  kind.mlp_bias = in.Flag("mlp_bias", false);
  return ReadLlamaKind(in, has_tensor, kind);
}

}  // namespace banyan
