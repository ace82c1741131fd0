// The sizes that growing changes, and what they may become.
#ifndef BANYAN_EXPERIMENTS_MAKERS_GROW_MODEL_SIZE_H_
#define BANYAN_EXPERIMENTS_MAKERS_GROW_MODEL_SIZE_H_

#include <string>

#include "core/base/common.h"
#include "core/checkpoint/architecture.h"

namespace banyan {

struct ModelSize {
  int hidden = 0;
  int layers = 0;
  int heads = 0;
  int kv_heads = 0;
  int feed_forward = 0;

  bool operator==(const ModelSize&) const = default;
};

ModelSize SizeOf(const Architecture& architecture);

// The shapes that `like` may name, for messages.
inline constexpr char kShapeNames[] = "110m, 1b or 7b";

// What was asked for: a shape by name (empty: none), and sizes (0: the shape's
// or, without one, the model's own).
struct SizeWish {
  std::string like;
  ModelSize sizes;
};

// The size that a model of `architecture` is to have. Heads keep their
// dimensions: a shape's heads are as many as its width holds of them. Its
// layers are never fewer than the model's. The key heads are those of the
// shape's key width, and never fewer than the model's; the query heads are the
// multiple of them that comes nearest to the shape's hidden size. Fails with
// InvalidArgument if there is no such shape, nothing would grow, or as
// CheckGrowth does.
absl::StatusOr<ModelSize> ResolveSize(const Architecture& architecture,
                                      const SizeWish& wish);

// That a model of `architecture` can compute the same at `size`: its family is
// one with root mean square norms and rotary positions, it is not grown itself,
// no size shrinks, the heads are a multiple of the key heads and each key head
// keeps at least its queries.
absl::Status CheckGrowth(const Architecture& architecture,
                         const ModelSize& size);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_MAKERS_GROW_MODEL_SIZE_H_
