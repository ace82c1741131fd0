// What `banyan grow`, `banyan doctor` and `banyan run` need of a drafter whose
// heads were trained for its target. A drafter's row points to its own
// functions.
#ifndef BANYAN_DRAFTERS_HEAD_TOOLS_H_
#define BANYAN_DRAFTERS_HEAD_TOOLS_H_

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "core/base/token.h"
#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"

namespace banyan {

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

// Measures how much a drafter agrees with its target, for `banyan doctor`.

// Below this acceptance rate a drafter is weak: two random distributions over a
// small vocabulary have less.
inline constexpr double kWeakOverlap = 0.25;

// Over places of a text: the mean acceptance rate, sum(min(p, q)), and the
// share of places where both distributions have the same argmax. 0 if there are
// none.
class Agreement {
 public:
  // Requires distributions over one vocabulary.
  void Count(const Distribution& target, const Distribution& draft);

  int places() const { return places_; }
  double overlap() const { return places_ == 0 ? 0 : overlap_ / places_; }
  double same() const { return places_ == 0 ? 0 : same_ / places_; }

 private:
  int places_ = 0;
  double overlap_ = 0;
  double same_ = 0;
};

// Returns the model's distributions after each token of a text, read in one
// pass, at temperature 1. Fails as Model::Score.
absl::StatusOr<std::vector<Distribution>> LawsAfter(
    const Model& model, const std::vector<TokenId>& tokens);

// Functions that check whether a head's files are read as they were meant. A
// drafter's row of the catalogue points to its own, so that `banyan doctor`
// need not know the drafter.
//
// At every place of some texts, the head's distribution of the next token but
// one is compared with the target's, given the true tokens: at the first step
// after the target's own states, at each further step after the head's output
// of the step before. This is done as the files say, and with each assumption
// turned into its other.

inline constexpr int kDoctorSteps = 4;

// One way to read the files. By step: the mean acceptance rate, sum(min(p, q)),
// and the share of places where both distributions have the same argmax.
struct Reading {
  std::string name;  // "as the files say"
  std::vector<double> overlap, same;
  std::string error;  // it cannot be read that way; the others are empty
};

struct Examination {
  std::string about;              // the layout, and what it reads of the target
  std::vector<Reading> readings;  // the first is as the files say
  int places = 0;                 // of the first step

  // The turned reading that is clearly better, and not weak; null if none is.
  const Reading* Better() const;
  // True if the head cannot be read as the files say, or is weak read so.
  bool IsWeak() const;
};

// Examines the head in `directory`. `texts` have three tokens at least.
// `progress` is told how many readings of all are done. Fails if the head does
// not fit the target, whichever way it is read, or if the target fails.
using ExamineHead = absl::StatusOr<Examination> (*)(
    const Model& target, const std::string& directory,
    const std::vector<std::vector<TokenId>>& texts,
    absl::FunctionRef<void(int done, int all)> progress);

// Describes the head in `directory` for a run: its layout, and which states of
// the target it reads, by what count. Fails if it does not fit the target.
using DescribeHead = absl::StatusOr<std::string> (*)(
    const Model& target, const std::string& directory);

// Published heads come as pickles too, which nothing here reads.

// What to do with a pickle in this folder, "a pickle: scripts/train convert
// FILE --out DIR makes them of it"; empty if there is none.
std::string PickleIn(const std::string& directory);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEAD_TOOLS_H_
