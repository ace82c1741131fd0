// Heads that grow with their target: what a drafter's folder says of its file
// so that `banyan grow` can write a larger one without knowing the drafter. The
// drafter's row of the catalogue points to the function that says it.
//
// A grown target's hidden states are the old ones with zeros behind them. Heads
// propose the same from them if every axis over hidden states grows likewise:
// new rows are zero, so whatever they write stays zero there; new columns,
// which read zeros, are noise, so that they cost what trained ones do. Or heads
// stay as they are and read of each state the numbers that were there.
#ifndef BANYAN_DRAFTERS_HEAD_GROWTH_H_
#define BANYAN_DRAFTERS_HEAD_GROWTH_H_

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/stored_tensor.h"

namespace banyan {

struct HeadTensor {
  std::string name;
  StoredTensor stored;
  // How many hidden states lie side by side along the rows and along the
  // columns: 0 on an axis that stays as it is (a vocabulary, or a size of the
  // heads' own), 2 where an embedding is read beside a hidden state. A vector
  // has rows alone.
  int row_states = 0;
  int column_states = 0;
};

// A number or a yes about the heads, for programs.
struct HeadFact {
  std::string name;
  std::variant<int, bool> value;
};

// A key of config.json, or of the object under `section` there.
struct HeadKey {
  std::string section;  // empty: none
  std::string key;
  std::variant<int, std::vector<int>> value;
};

// What the heads are for, before and after.
struct GrowingTarget {
  int hidden_size = 0;
  int new_hidden_size = 0;
  int vocab_size = 0;
  // Layers come to be behind those there are. Null: the heads are read alone.
  const Checkpoint* checkpoint = nullptr;
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
};

// Opens the heads of `directory`, made for such a target. An error
// says what was expected there: the folder may be another drafter's.
using OpenGrowableHeads = absl::StatusOr<GrowableHeads> (*)(
    const std::string& directory, const GrowingTarget& target);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEAD_GROWTH_H_
