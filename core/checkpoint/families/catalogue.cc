#include "core/checkpoint/families/catalogue.h"

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/nearest.h"
#include "core/base/quoted_name.h"
#include "core/base/status_macros.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/config_reader.h"
#include "core/checkpoint/families/common.h"
#include "core/checkpoint/families/gpt2.h"
#include "core/checkpoint/families/llama.h"
#include "core/checkpoint/families/mistral.h"
#include "core/checkpoint/families/qwen2.h"
#include "core/checkpoint/families/qwen3.h"

namespace banyan {

absl::Span<const FamilyRow> FamilyCatalogue() {
  static const auto& rows = *new std::vector<FamilyRow>{
      {"llama", "Llama 1 to 3 and what is shaped like them.", ReadLlama},
      {"mistral", "Llama with a sliding window.", ReadMistral},
      {"qwen2", "Llama with biases on queries, keys and values.", ReadQwen2},
      {"qwen3", "Llama with norms over each head's queries and keys.",
       ReadQwen3},
      {"gpt2", "Learnt positions, layer norms and an ungated GELU network.",
       ReadGpt2},
  };
  return rows;
}

absl::StatusOr<Architecture> ReadArchitecture(ConfigReader& in,
                                              HasTensor has_tensor) {
  const std::string name = in.Text("model_type");
  BANYAN_RETURN_IF_ERROR(in.status());
  std::vector<absl::string_view> known;
  for (const FamilyRow& row : FamilyCatalogue()) {
    known.push_back(row.name);
    if (row.name != name) continue;
    Architecture result = row.read(in, has_tensor);
    BANYAN_RETURN_IF_ERROR(in.status());
    ReadGrowth(in, result);
    ReadSource(in, result);
    BANYAN_RETURN_IF_ERROR(in.status());
    return result;
  }
  in.Fail("model_type", UnknownName("family", Shown(name), known));
  return in.status();
}

}  // namespace banyan
