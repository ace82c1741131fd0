// SeenCaches: copies of the committed keys and values that a view sees, layer
// by layer, if it sees a part of the text. Attention then reads only the copy.
#ifndef BANYAN_CORE_TRANSFORMER_SEEN_CACHES_H_
#define BANYAN_CORE_TRANSFORMER_SEEN_CACHES_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "core/model/seen_text.h"
#include "core/ops/attention_mass.h"
#include "core/ops/backend.h"
#include "core/ops/device_ops.h"
#include "core/ops/kv_cache.h"
#include "core/transformer/model_split.h"

namespace banyan {

class SeenCaches {
 public:
  // Makes `layers` caches with the shape of `like`, which is empty. Nothing is
  // seen until Follow().
  SeenCaches(const SeenText& seen, std::size_t layers, const KvCache& like);

  bool all() const { return seen_.all(); }
  // Slots that are seen of a text of this length.
  int size(int length) const;
  const KvCache& cache(std::size_t place) const { return parts_[place].cache; }

  // Whether this layer's chunks are to be chosen before it is attended to.
  bool chooses(std::size_t place, int length) const;
  // Chooses them by the masses that a row of queries, whose keys are the first
  // `committed` of the cache, gives them, over the key heads of all ranks.
  absl::Status Choose(std::size_t place, AttentionMassArgs row,
                      ModelSplit& split, Backend& backend);
  // Copies what is seen of the layer's `length` slots and not here yet. Where
  // chunks are to be chosen, after that.
  absl::Status Follow(std::size_t place, const KvCache& committed, int length,
                      DeviceOps& ops);

 private:
  struct Part {
    KvCache cache;
    std::vector<int> slots;   // of the committed cache, that it holds
    std::vector<int> chunks;  // once they are chosen
    bool chosen = false;
    int followed = 0;  // the length that it holds what is seen of
  };

  SeenText seen_;
  std::vector<Part> parts_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_SEEN_CACHES_H_
