#include "experiments/makers/grow/model_size.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/messages.h"
#include "core/checkpoint/families/families.h"

namespace banyan {
namespace {

struct LikeShape {
  absl::string_view name;
  int hidden;
  int layers;
  int key_width;  // of all key heads together
  int feed_forward;
};

// karpathy/llama2.c's 110M, TinyLlama's 1.1B and Llama's 7B.
constexpr std::array<LikeShape, 3> kShapes = {{
    {"110m", 768, 12, 768, 2048},
    {"1b", 2048, 22, 256, 5632},
    {"7b", 4096, 32, 4096, 11008},
}};

// The families whose norms divide by the root mean square alone. A layer norm
// subtracts the mean, which padding changes.
constexpr std::array<absl::string_view, 4> kFamilies = {"llama", "mistral",
                                                        "qwen2", "qwen3"};

int Nearest(double number) { return static_cast<int>(std::lround(number)); }

// The shape's sizes at heads of `head_dim`; what the wish states stays.
void TakeShape(const LikeShape& shape, const Architecture& architecture,
               ModelSize& size) {
  const auto take = [](int& wished, int shaped) {
    if (wished == 0) wished = shaped;
  };
  take(size.hidden, shape.hidden);
  take(size.layers,
       std::max(shape.layers, static_cast<int>(architecture.layers.size())));
  take(size.feed_forward, shape.feed_forward);
  const double dim = architecture.head_dim;
  take(size.kv_heads,
       std::max(architecture.kv_heads, Nearest(shape.key_width / dim)));
  const int group = Nearest(shape.hidden / dim / size.kv_heads);
  take(size.heads,
       size.kv_heads *
           std::max(architecture.heads / architecture.kv_heads, group));
}

absl::Status Shrinks(absl::string_view what, int from, int to) {
  if (to >= from) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": the model has ", from, ", expected at least that, ",
                   "found ", to, ": a model grows, it does not shrink"));
}

}  // namespace

ModelSize SizeOf(const Architecture& architecture) {
  return {.hidden = architecture.hidden_size,
          .layers = static_cast<int>(architecture.layers.size()),
          .heads = architecture.heads,
          .kv_heads = architecture.kv_heads,
          .feed_forward = architecture.feed_forward_size};
}

absl::StatusOr<ModelSize> ResolveSize(const Architecture& architecture,
                                      const SizeWish& wish) {
  ModelSize size = wish.sizes;
  if (!wish.like.empty()) {
    const auto shape = std::find_if(
        kShapes.begin(), kShapes.end(),
        [&](const LikeShape& row) { return row.name == wish.like; });
    if (shape == kShapes.end())
      return absl::InvalidArgumentError(absl::StrCat(
          "--like: expected ", kShapeNames, ", found ", QuotedName(wish.like)));
    TakeShape(*shape, architecture, size);
  }
  const ModelSize own = SizeOf(architecture);
  for (int ModelSize::*member :
       {&ModelSize::hidden, &ModelSize::layers, &ModelSize::heads,
        &ModelSize::kv_heads, &ModelSize::feed_forward})
    if (size.*member == 0) size.*member = own.*member;
  BANYAN_RETURN_IF_ERROR(CheckGrowth(architecture, size));
  if (size == own)
    return absl::InvalidArgumentError(
        "the model has that size already: name a shape with --like, or sizes");
  return size;
}

absl::Status CheckGrowth(const Architecture& architecture,
                         const ModelSize& size) {
  const std::string& family = architecture.family;
  if (std::find(kFamilies.begin(), kFamilies.end(), family) == kFamilies.end())
    return absl::InvalidArgumentError(
        absl::StrCat("a model of family ", family, " cannot grow: expected ",
                     "llama, mistral, qwen2 or qwen3, whose norms have no mean "
                     "and whose positions are rotary"));
  if (!architecture.grown_from.empty())
    return absl::InvalidArgumentError(
        absl::StrCat("the model is itself grown, from ",
                     QuotedName(architecture.grown_from), ": grow that one"));
  const ModelSize own = SizeOf(architecture);
  BANYAN_RETURN_IF_ERROR(Shrinks("--hidden", own.hidden, size.hidden));
  BANYAN_RETURN_IF_ERROR(Shrinks("--layers", own.layers, size.layers));
  BANYAN_RETURN_IF_ERROR(Shrinks("--heads", own.heads, size.heads));
  BANYAN_RETURN_IF_ERROR(Shrinks("--kv-heads", own.kv_heads, size.kv_heads));
  BANYAN_RETURN_IF_ERROR(
      Shrinks("--feed-forward", own.feed_forward, size.feed_forward));
  if (size.heads % size.kv_heads != 0)
    return absl::InvalidArgumentError(
        absl::StrCat("--heads: expected a multiple of the ", size.kv_heads,
                     " key heads, found ", size.heads));
  if (std::max(size.hidden, size.feed_forward) > ConfigReader::kMaxSize)
    return absl::InvalidArgumentError(
        absl::StrCat("expected sizes up to ", ConfigReader::kMaxSize,
                     ", found ", std::max(size.hidden, size.feed_forward)));
  if (size.layers > kMaxLayers || size.heads > kMaxHeads)
    return absl::InvalidArgumentError(
        absl::StrCat("expected at most ", kMaxLayers, " layers and ", kMaxHeads,
                     " heads, found ", size.layers, " and ", size.heads));
  // Below one key head the queries of the model stay together.
  return Shrinks("--heads over --kv-heads", own.heads / own.kv_heads,
                 size.heads / size.kv_heads);
}

}  // namespace banyan
