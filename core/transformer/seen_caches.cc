#include "core/transformer/seen_caches.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/status_macros.h"
#include "core/model/seen_text.h"
#include "core/ops/attention_mass.h"
#include "core/ops/backend.h"
#include "core/ops/device_ops.h"
#include "core/ops/kv_cache.h"
#include "core/ops/owned_tensor.h"
#include "core/transformer/model_split.h"

namespace banyan {

SeenCaches::SeenCaches(const SeenText& seen, std::size_t layers,
                       const KvCache& like)
    : seen_(seen), parts_(seen.all() ? 0 : layers) {
  for (Part& part : parts_) {
    part.cache.kv_heads = like.kv_heads;
    part.cache.head_dim = like.head_dim;
    part.cache.may_split = like.may_split;
  }
}

int SeenCaches::size(int length) const {
  if (all()) return length;
  if (parts_.empty()) return 0;
  // As many chunks in each layer.
  const Part& part = parts_.front();
  const std::size_t wanted = static_cast<std::size_t>(seen_.chunks);
  std::vector<int> chunks = part.chunks;
  if (!part.chosen) {
    chunks = ChunksBetween(seen_, length);
    chunks.resize(std::min(chunks.size(), wanted));
  }
  return static_cast<int>(SeenSlots(seen_, chunks, length).size());
}

bool SeenCaches::chooses(std::size_t place, int length) const {
  return !all() && !parts_[place].chosen && seen_.chunks > 0 &&
         !ChunksBetween(seen_, length).empty();
}

absl::Status SeenCaches::Choose(std::size_t place, AttentionMassArgs row,
                                ModelSplit& split, Backend& backend) {
  row.chunk = seen_.chunk;
  const int chunks = ChunksOf(row.committed, row.chunk);
  std::vector<float> masses;
  if (row.prefix->kv_heads > 0) {
    BANYAN_ASSIGN_OR_RETURN(
        const OwnedTensor y,
        OwnedTensor::New(row.prefix->kv_heads, chunks, backend));
    row.y = y.view;
    BANYAN_RETURN_IF_ERROR(backend.AttentionMass(row));
    BANYAN_RETURN_IF_ERROR(y.Download(masses, backend));
  }
  const auto count = static_cast<std::size_t>(chunks);
  BANYAN_RETURN_IF_ERROR(split.GatherMasses(masses, count));
  for (std::size_t i = count; i < masses.size(); ++i)
    masses[i % count] += masses[i];
  masses.resize(count);
  parts_[place].chunks = BestChunks(seen_, row.committed, masses);
  parts_[place].chosen = true;
  parts_[place].followed = 0;
  return absl::OkStatus();
}

absl::Status SeenCaches::Follow(std::size_t place, const KvCache& committed,
                                int length, DeviceOps& ops) {
  Part& part = parts_[place];
  if (part.followed == length) return absl::OkStatus();
  std::vector<int> slots = SeenSlots(seen_, part.chunks, length);
  const auto differ = std::mismatch(slots.begin(), slots.end(),
                                    part.slots.begin(), part.slots.end());
  const auto kept = static_cast<int>(differ.first - slots.begin());
  const std::vector<int> missing(differ.first, slots.end());
  if (!missing.empty()) {
    // Room for the text to grow in.
    const int room = static_cast<int>(slots.size()) + seen_.latest / 4 + 64;
    if (static_cast<int>(slots.size()) > part.cache.capacity)
      BANYAN_RETURN_IF_ERROR(ops.ReserveKv(part.cache, room, kept));
    BANYAN_RETURN_IF_ERROR(ops.MoveKv({.cache = &part.cache,
                                       .slots = missing,
                                       .first_slot = kept,
                                       .from = &committed}));
  }
  part.slots = std::move(slots);
  part.followed = length;
  return absl::OkStatus();
}

}  // namespace banyan
