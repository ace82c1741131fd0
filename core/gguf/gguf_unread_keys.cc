#include "core/gguf/gguf_unread_keys.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "core/gguf/gguf_keys.h"

namespace banyan {
namespace {

// The list is llama.cpp's (LLM_KV). Left out are keys that go with tensors of
// other architectures (experts, low ranks, states), because such a tensor is
// refused by its own name, and keys that only say more about a listed one
// (sliding_window_pattern).
struct NumberKey {
  absl::string_view name;
  std::vector<double> neutral;  // 0: not used; 1: a factor
};

const std::vector<NumberKey>& NumberKeys() {
  static const auto& keys = *new std::vector<NumberKey>{
      {"expert_used_count", {0}},
      {"nextn_predict_layers", {0}},
      {"rescale_every_n_layers", {0}},
      {"pooling_type", {0, -1}},  // none, and not stated
      {"logit_scale", {0, 1}},
      {"residual_scale", {0, 1}},
      {"embedding_scale", {0, 1}},
      {"attn_logit_softcapping", {0}},
      {"final_logit_softcapping", {0}},
      {"attention.max_alibi_bias", {0}},
      {"attention.clamp_kqv", {0}},
      {"attention.output_scale", {0, 1}},
      {"attention.temperature_length", {0}},
      {"attention.temperature_scale", {0}},
      {"attention.shared_kv_layers", {0}},
      {"rope.scaling.alpha", {0, 1}},
      {"rope.scaling.attn_factor", {1}},
      {"rope.scaling.yarn_attn_factor", {1}},
      {"rope.scaling.yarn_ext_factor", {0, -1}},
      {"rope.scaling.yarn_log_multiplier", {0}}};
  return keys;
}

struct FlagKey {
  absl::string_view name;
  bool neutral;
};

constexpr FlagKey kFlagKeys[] = {{"attention.causal", true},
                                 {"use_parallel_residual", false},
                                 {"swin_norm", false}};

constexpr char kNeutral[] =
    ", with which the model is the same as without the key";

// The published values of tensor_data_layout. Both mean the layout that is read
// here.
constexpr std::array<absl::string_view, 2> kLayouts = {"reference",
                                                       "Meta AI original pth"};

// The scale of attention where no key gives one, 1 / sqrt(head), was rounded to
// 32 bits if a file has it.
bool IsOwnScale(double scale, std::int64_t head) {
  constexpr double kTolerance = 1e-6;
  const double own = 1 / std::sqrt(static_cast<double>(head));
  return scale == 0 || std::abs(scale - own) <= kTolerance * own;
}

}  // namespace

void RefuseUnreadKeys(absl::string_view architecture, std::int64_t head,
                      std::int64_t context, GgufKeys& in) {
  const auto key = [architecture](absl::string_view name) {
    return absl::StrCat(architecture, ".", name);
  };
  for (const auto& [name, neutral] : NumberKeys()) {
    const double number = in.RealOr(key(name), neutral.front());
    if (std::find(neutral.begin(), neutral.end(), number) == neutral.end())
      in.Unexpected(key(name),
                    absl::StrCat(absl::StrJoin(neutral, " or "), kNeutral));
  }
  for (const auto& [name, neutral] : kFlagKeys)
    if (in.FlagOr(key(name), neutral) != neutral)
      in.Unexpected(key(name),
                    absl::StrCat(neutral ? "true" : "false", kNeutral));
  const std::string scale = key("attention.scale");
  if (!IsOwnScale(in.RealOr(scale, 0), head))
    in.Unexpected(scale, "1 / sqrt(the size of a head) or 0");
  const std::string window = key("attention.sliding_window");
  const std::int64_t reach = in.CountOr(window, 0);
  if (reach > 0 && reach < context)
    in.Unexpected(window, absl::StrCat("0 or at least the context's ", context,
                                       " tokens"));
  const std::string layout = key("tensor_data_layout");
  const std::string stored = in.TextOr(layout, kLayouts[0]);
  if (std::find(kLayouts.begin(), kLayouts.end(), stored) == kLayouts.end())
    in.Unexpected(layout, absl::StrJoin(kLayouts, " or "));
}

}  // namespace banyan
