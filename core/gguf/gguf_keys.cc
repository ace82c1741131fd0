#include "core/gguf/gguf_keys.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <variant>

namespace banyan {

namespace {

std::string TextOf(const GgufValue& value) {
  if (const bool* flag = std::get_if<bool>(&value))
    return *flag ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t>(&value))
    return absl::StrCat(*number);
  if (const auto* number = std::get_if<double>(&value))
    return absl::StrCat(*number);
  if (const auto* text = std::get_if<absl::string_view>(&value))
    return QuotedName(*text);
  return absl::StrCat("a list of ", std::get<GgufList>(value).count);
}

}  // namespace

bool GgufKeys::Has(absl::string_view key) const {
  return contents_.keys.find(key) != contents_.keys.end();
}

void GgufKeys::Fail(absl::string_view key, absl::string_view message) {
  errors_.Add(absl::InvalidArgumentError(
      absl::StrCat(file_, ": ", key, ": ", message)));
}

void GgufKeys::Unexpected(absl::string_view key, absl::string_view what) {
  const auto found = contents_.keys.find(key);
  Fail(key,
       absl::StrCat("expected ", what, ", found ",
                    found == contents_.keys.end() ? "no such key"
                                                  : TextOf(found->second)));
}

std::int64_t GgufKeys::Count(absl::string_view key) {
  const auto found = contents_.keys.find(key);
  if (found != contents_.keys.end())
    if (const auto* number = std::get_if<std::int64_t>(&found->second))
      if (*number >= 0) return *number;
  Unexpected(key, "a whole number");
  return 0;
}

std::int64_t GgufKeys::CountOr(absl::string_view key, std::int64_t fallback) {
  return Has(key) ? Count(key) : fallback;
}

double GgufKeys::Real(absl::string_view key) {
  const auto found = contents_.keys.find(key);
  if (found != contents_.keys.end()) {
    if (const auto* number = std::get_if<double>(&found->second))
      if (std::isfinite(*number)) return *number;
    if (const auto* number = std::get_if<std::int64_t>(&found->second))
      return static_cast<double>(*number);
  }
  Unexpected(key, "a number");
  return 0;
}

double GgufKeys::RealOr(absl::string_view key, double fallback) {
  return Has(key) ? Real(key) : fallback;
}

bool GgufKeys::FlagOr(absl::string_view key, bool fallback) {
  const auto found = contents_.keys.find(key);
  if (found == contents_.keys.end()) return fallback;
  if (const bool* flag = std::get_if<bool>(&found->second)) return *flag;
  Unexpected(key, "true or false");
  return fallback;
}

std::string GgufKeys::Text(absl::string_view key) {
  const auto found = contents_.keys.find(key);
  if (found != contents_.keys.end())
    if (const auto* text = std::get_if<absl::string_view>(&found->second))
      return std::string(*text);
  Unexpected(key, "a text");
  return "";
}

std::string GgufKeys::TextOr(absl::string_view key,
                             absl::string_view fallback) {
  return Has(key) ? Text(key) : std::string(fallback);
}

const GgufList* GgufKeys::List(absl::string_view key, absl::string_view what) {
  const auto found = contents_.keys.find(key);
  if (found == contents_.keys.end()) return nullptr;
  const auto* list = std::get_if<GgufList>(&found->second);
  if (list == nullptr) Unexpected(key, what);
  return list;
}

std::vector<absl::string_view> GgufKeys::Texts(absl::string_view key) {
  const GgufList* list = List(key, "a list of texts");
  if (list == nullptr) return {};
  std::vector<absl::string_view> texts = GgufTexts(*list);
  if (texts.size() != list->count) Unexpected(key, "a list of texts");
  return texts;
}

std::vector<double> GgufKeys::Numbers(absl::string_view key) {
  const GgufList* list = List(key, "a list of numbers");
  if (list == nullptr) return {};
  std::vector<double> numbers = GgufNumbers(*list);
  if (numbers.size() != list->count) Unexpected(key, "a list of numbers");
  return numbers;
}

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
