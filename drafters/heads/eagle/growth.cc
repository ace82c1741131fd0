#include "drafters/heads/eagle/growth.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/families/families.h"
#include "drafters/heads/eagle/layouts.h"

namespace banyan {
namespace {

// All tensors as they are, and of the target's what was borrowed.
void KeepTensors(const EagleSpec& spec, const Checkpoint& head,
                 const Checkpoint& target, GrowableHeads& heads) {
  const auto add = [&heads](const std::string& name, const Checkpoint& of,
                            const std::string& tensor) {
    heads.tensors.push_back({.name = name, .stored = *of.Find(tensor)});
  };
  ForEachSource(spec.network, [&](const WeightSource& source) {
    add(source.tensor, head, source.tensor);
  });
  // A map leads from rows of an output matrix of the head's own.
  for (const std::string& table : spec.network.tables)
    if (table != kLogitMap || spec.network.head.present())
      add(table, head, table);
  const Architecture& old = target.architecture();
  if (!spec.network.embedding.present())
    add(spec.embedding_name, target, old.embedding.tensor);
  if (!spec.network.head.present())
    add("lm_head.weight", target, old.head.tensor);
}

// A size that grows by the factor by which the target's does, rounded up.
int Times(int size, int old_of_target, int new_of_target) {
  return static_cast<int>(
      (std::int64_t{1} * size * new_of_target + old_of_target - 1) /
      old_of_target);
}

// A head whose every size grows as the target's: as a model's tensors do
// (experiments/makers/grow/tensor_plan.h has the arithmetic), but that some
// columns are states side by side.
class LikeTarget {
 public:
  LikeTarget(const EagleSpec& spec, const Checkpoint& head,
             const GrowingTarget& target, GrowableHeads& heads)
      : spec_(spec), of_(spec.network), head_(head), heads_(heads) {
    const Architecture& old = target.checkpoint->architecture();
    const int old_group = old.heads / old.kv_heads;
    const int new_group = target.like->heads / target.like->kv_heads;
    const int group = of_.heads / of_.kv_heads;
    const int dim = of_.head_dim;
    hidden_ =
        Times(of_.hidden_size, target.hidden_size, target.new_hidden_size);
    kv_heads_ = Times(of_.kv_heads, old.kv_heads, target.like->kv_heads);
    group_ = Times(group, old_group, new_group);
    feed_forward_ = Times(of_.feed_forward_size, old.feed_forward_size,
                          target.like->feed_forward);
    queries_ = {kv_heads_ * group_ * dim, group * dim, group_ * dim};
    keys_ = {kv_heads_ * dim, of_.kv_heads * dim, kv_heads_ * dim};
    wide_ = {feed_forward_, of_.feed_forward_size, feed_forward_};
    whole_ = std::int64_t{1} * of_.hidden_size * target.new_hidden_size ==
             std::int64_t{1} * hidden_ * target.hidden_size;
    taps_ = target.States(static_cast<int>(spec.taps.size()));
    state_ = target.States(1);
  }

  absl::Status Grow() {
    if (!whole_)
      return absl::InvalidArgumentError(absl::StrCat(
          "hidden_size ", of_.hidden_size, " times ", state_.new_block, "/",
          state_.block, ", as the target's grows, is no whole number"));
    if (std::max(hidden_, feed_forward_) > ConfigReader::kMaxSize ||
        kv_heads_ * group_ > kMaxHeads)
      return absl::InvalidArgumentError(absl::StrCat(
          "expected sizes up to ", ConfigReader::kMaxSize, " and ", kMaxHeads,
          " heads, found ", std::max(hidden_, feed_forward_), " and ",
          kv_heads_ * group_));
    Add(of_.embedding, {}, States(1), kZeroColumns);
    Add(spec_.reduce, States(1), taps_, kNoiseColumns);
    for (const WeightSource& norm : spec_.state_norms)
      Add(norm, state_, {}, kNorm);
    Add(spec_.joint_norm, taps_, {}, kNorm);
    Add(of_.input.fuse, States(1), States(2), kNoiseColumns);
    Add(of_.input.fuse_bias, States(1), {}, kNoiseColumns);
    Add(of_.input.token_norm, States(1), {}, kNorm);
    Add(of_.input.vector_norm, States(1), {}, kNorm);
    for (const LayerSources& layer : of_.layers) GrowLayer(layer);
    Add(of_.final_norm, States(1), {}, kNorm);
    Add(of_.head, {}, States(1), kNoiseColumns);
    for (const std::string& table : of_.tables)
      heads_.tensors.push_back({.name = table, .stored = *head_.Find(table)});
    AddKeys();
    return absl::OkStatus();
  }

  int hidden() const { return hidden_; }

 private:
  enum Beside { kZeroColumns, kNoiseColumns, kNoise, kNorm };

  // As many of the head's own states side by side.
  HeadAxis States(int count) const {
    return {count * hidden_, of_.hidden_size, hidden_};
  }

  void GrowLayer(const LayerSources& layer) {
    Add(layer.attention_norm, States(1), {}, kNorm);
    // Of the first layer they may read two.
    const HeadAxis read = States(layer.query.columns / of_.hidden_size);
    Add(layer.query, queries_, read, kNoise);
    Add(layer.key, keys_, read, kNoise);
    Add(layer.value, keys_, read, kNoise);
    Add(layer.query_bias, queries_, {}, kNoise);
    Add(layer.key_bias, keys_, {}, kNoise);
    Add(layer.value_bias, keys_, {}, kNoise);
    Add(layer.query_norm, {}, {}, kZeroColumns);
    Add(layer.key_norm, {}, {}, kZeroColumns);
    Add(layer.output, States(1), queries_, kZeroColumns);
    Add(layer.output_bias, States(1), {}, kZeroColumns);
    Add(layer.mlp_norm, States(1), {}, kNorm);
    Add(layer.gate, wide_, States(1), kNoise);
    Add(layer.up, wide_, States(1), kNoise);
    Add(layer.gate_bias, wide_, {}, kNoise);
    Add(layer.up_bias, wide_, {}, kNoise);
    Add(layer.down, States(1), wide_, kZeroColumns);
    Add(layer.down_bias, States(1), {}, kZeroColumns);
  }

  void Add(const WeightSource& source, const HeadAxis& rows,
           const HeadAxis& columns, Beside beside) {
    if (!source.present()) return;
    heads_.tensors.push_back({.name = source.tensor,
                              .stored = *head_.Find(source.tensor),
                              .rows = rows,
                              .columns = columns,
                              .noisy_rows = beside == kNoise,
                              .noisy_columns = beside != kZeroColumns,
                              .is_norm = beside == kNorm});
  }

  void AddKeys() {
    const auto add = [&](const char* key, auto value) {
      heads_.keys.push_back({spec_.sizes_section, key, value});
    };
    add("hidden_size", hidden_);
    add("num_attention_heads", kv_heads_ * group_);
    add("num_key_value_heads", kv_heads_);
    add("head_dim", of_.head_dim);
    add("intermediate_size", feed_forward_);
    add("rms_norm_eps", of_.norm_epsilon * of_.hidden_size / hidden_);
    // Heads keep their size, so their norms keep their epsilon.
    if (of_.layers.front().query_norm.present())
      add("head_norm_eps", of_.head_norm_epsilon);
  }

  const EagleSpec& spec_;
  const Architecture& of_;
  const Checkpoint& head_;
  GrowableHeads& heads_;
  int hidden_, kv_heads_, group_, feed_forward_;
  bool whole_;  // the width times the factor
  HeadAxis queries_, keys_, wide_, taps_, state_;
};

// New layers follow the target's, so taps that no key names would move.
void KeepTaps(const EagleSpec& spec, GrowableHeads& heads) {
  if (spec.tap_shift < 0) return;
  std::vector<int> numbers = spec.taps;
  for (int& number : numbers) number -= spec.tap_shift;
  heads.keys.push_back({spec.taps_in_section ? "eagle_config" : "",
                        "eagle_aux_hidden_state_layer_ids", numbers});
}

}  // namespace

absl::StatusOr<GrowableHeads> OpenGrowableEagle(const std::string& directory,
                                                const GrowingTarget& target) {
  if (target.checkpoint == nullptr)
    return absl::InvalidArgumentError("such a head grows with its target");
  const Architecture& old = target.checkpoint->architecture();
  BANYAN_ASSIGN_OR_RETURN(
      EagleFile file,
      OpenEagleFile(directory, {.hidden_size = target.hidden_size,
                                .layers = static_cast<int>(old.layers.size()),
                                .vocab_size = target.vocab_size}));
  const EagleSpec& spec = file.spec;
  const std::shared_ptr<const Checkpoint> head = std::move(file.checkpoint);
  GrowableHeads heads = {.file = head};
  const std::string layers =
      Counted(static_cast<int>(spec.network.layers.size()), "layer");
  heads.keep_their_cost = !target.like.has_value();
  heads.keys = {{"", "target_hidden_size", target.new_hidden_size}};
  if (heads.keep_their_cost) {
    KeepTensors(spec, *head, *target.checkpoint, heads);
    heads.keys.push_back({"", "target_coordinates", target.hidden_size});
    heads.summary =
        absl::StrCat(spec.layout, ", ", layers,
                     ", which reads the numbers of the states that were there");
  } else {
    LikeTarget like(spec, *head, target, heads);
    BANYAN_RETURN_IF_ERROR(like.Grow());
    heads.summary = absl::StrCat(spec.layout, ", ", layers, ", grown to width ",
                                 like.hidden(), " like the target");
  }
  heads.facts = {{"layers", static_cast<int>(spec.network.layers.size())},
                 {"taps", static_cast<int>(spec.taps.size())},
                 {"own_vocabulary", spec.own_vocabulary}};
  KeepTaps(spec, heads);
  return heads;
}

}  // namespace banyan
