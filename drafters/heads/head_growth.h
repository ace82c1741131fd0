// Functions that open heads which grow with their target. A drafter's row of
// the catalogue points to its own, so that `banyan grow` can write a larger
// file without knowing the drafter.
//
// A grown target's hidden states are the old ones followed by zeros. Heads
// propose the same from them if every axis over hidden states grows likewise.
// New rows are zero, so whatever they write stays zero there. New columns read
// zeros; they are noise, so that they cost what trained ones do. Or heads stay
// as they are and read of each state the old numbers; sizes of their own
// (attention, feed-forward) grow only where that is asked for.
#ifndef BANYAN_DRAFTERS_HEADS_HEAD_GROWTH_H_
#define BANYAN_DRAFTERS_HEADS_HEAD_GROWTH_H_

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/stored_tensor.h"

namespace banyan {

// How a dimension of a tensor grows: its blocks of `block` places move, in
// order, to the beginnings of blocks of `new_block`. New blocks follow until
// there are `size` places.
struct HeadAxis {
  int size = 0;  // 0: it stays as it is, as a vocabulary does
  int block = 0;
  int new_block = 0;
};

struct HeadTensor {
  std::string name;
  StoredTensor stored;
  HeadAxis rows = {};
  HeadAxis columns = {};  // not of a vector
  // What stands in new places: noise, or else zeros. What new rows compute must
  // not be read; new columns must read zeros.
  bool noisy_rows = false;
  bool noisy_columns = true;
  // A norm's weights, over what grows from `block` to `new_block` by zeros.
  bool is_norm = false;
};

// A number or a flag about the heads, for programs.
struct HeadFact {
  std::string name;
  std::variant<int, bool> value;
};

// A key of config.json, or of the object under `section` there.
struct HeadKey {
  std::string section;  // empty: none
  std::string key;
  std::variant<int, double, std::vector<int>> value;
};

// Sizes of a grown target beside its width.
struct GrownTargetSizes {
  int heads = 0;
  int kv_heads = 0;
  int feed_forward = 0;
};

// The target of the heads, before and after growth.
struct GrowingTarget {
  int hidden_size = 0;
  int new_hidden_size = 0;
  int vocab_size = 0;
  // New layers follow the old ones. Null: the heads are read alone.
  const Checkpoint* checkpoint = nullptr;
  // Given: every size of the heads grows as the target's does, and so does
  // their cost. Else they may stay at those they were trained at.
  std::optional<GrownTargetSizes> like = {};

  // The axis of `count` hidden states side by side, such as 2 where an
  // embedding is read beside one.
  HeadAxis States(int count) const {
    return {count * new_hidden_size, hidden_size, new_hidden_size};
  }
};

// The heads of a folder, open.
struct GrowableHeads {
  std::shared_ptr<const void> file;  // keeps the tensors
  std::vector<HeadTensor> tensors;   // every one, in the order they are written
  std::string summary;               // "3 heads of 1 block"
  std::vector<HeadFact> facts;       // the same, for programs
  // What config.json says of the grown heads; empty: its `hidden_size`, if
  // there is one, becomes the target's.
  std::vector<HeadKey> keys = {};
  bool keep_their_cost = false;  // they stay at their trained sizes
};

// Opens the heads of `directory`, made for such a target. An error
// says what was expected there: the folder may be another drafter's.
using OpenGrowableHeads = absl::StatusOr<GrowableHeads> (*)(
    const std::string& directory, const GrowingTarget& target);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_HEAD_GROWTH_H_
