// What the files of a head on a target's hidden states say, in the words of one
// network: EAGLE of versions 1 to 3.1 and multi-token prediction, in each of
// the layouts they are published in (docs/formats.md).
//
// The network's rows are pairs: the token at place i + 1 with the target's
// hidden states at place i, at position i. What comes out guesses the states at
// place i + 1, and the token at place i + 2 from them; below the last true pair
// what came out of a pair stands in the place of the target's states.
#ifndef BANYAN_DRAFTERS_HEADS_EAGLE_LAYOUTS_H_
#define BANYAN_DRAFTERS_HEADS_EAGLE_LAYOUTS_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/checkpoint.h"

namespace banyan {

// What a head is made for.
struct EagleTarget {
  int hidden_size = 0;
  int layers = 0;
  int vocab_size = 0;
};

struct EagleSpec {
  std::string layout;  // "EAGLE-3, SpecForge's names"
  // The target's hidden states that a pair reads, by tap (core/model/model.h),
  // and how the file counts them.
  std::vector<int> taps;
  std::string tap_count;  // "the layer that they enter"
  // What is added to the file's numbers; -1: it has none. Where they stand.
  int tap_shift = -1;
  bool taps_in_section = false;
  // The section of config.json with the network's sizes; empty: none.
  std::string sizes_section;
  // Numbers of each state, the first ones, that are read: all but of a target
  // grown since.
  int state_size = 0;
  std::string embedding_name;  // of the tensor, be it there or borrowed
  // What makes one vector of several states side by side; absent: the one state
  // is the vector. Norms before that: of each state, or of all together.
  WeightSource reduce;
  std::vector<WeightSource> state_norms;
  WeightSource joint_norm;
  // What is fed back is the output after the final norm, not before it.
  bool feeds_back_normed = false;
  // How many logits it has, draft_vocab_size. Whether these are not one for
  // each of the target's tokens.
  int logits = 0;
  bool own_vocabulary = false;
  bool map_is_tokens = false;  // its map leads to tokens, not by differences
  // The network: `input` says what it makes of token and vector. Embedding and
  // head are absent where they are the target's.
  Architecture network;
};

struct EagleFile {
  EagleSpec spec;
  std::unique_ptr<Checkpoint> checkpoint;
  // The target's token of each logit, -1 for one that means none; empty where
  // they are the target's own.
  std::vector<TokenId> token_of;
};

// Turns what the files say into something else (drafters/heads/eagle/doctor.h).
using TurnEagle = absl::FunctionRef<void(EagleSpec& spec)>;

// Reads DIRECTORY/config.json and the headers of the weights beside it. Fails
// with NotFound if one is not there, and with InvalidArgument, which names file
// and key or tensor, where it is no head of such a target: another width,
// vocabulary or depth, a tensor too many, too few or of another shape, a flag
// that nobody here knows, taps that are not there, a vocabulary's map that
// leaves the target's. All of it is told together, one a line, but for what
// cannot be seen for the rest: shapes where a size is wrong, a map where a
// tensor is.
absl::StatusOr<EagleFile> OpenEagleFile(const std::string& directory,
                                        const EagleTarget& target);
absl::StatusOr<EagleFile> OpenEagleFile(const std::string& directory,
                                        const EagleTarget& target,
                                        TurnEagle turn);

// Keys of a head's config.json that contradict its tensors or each other, or
// that ask for something nobody here knows: all are noted in the reader.

// The list of layers whose states are read, and the section that has it in some
// layouts.
inline constexpr char kTapsKey[] = "eagle_aux_hidden_state_layer_ids";
inline constexpr char kTapsSection[] = "eagle_config";

// Flags that are set, and neither `known` nor without effect here.
void RefuseFlags(const ConfigReader& in, std::set<absl::string_view> known);

// Keys of EAGLE-3 beside tensors of another layout, named `tensors`, which have
// a logit for each token of the target's vocabulary.
void RefuseEagle3Keys(const ConfigReader& in, absl::string_view tensors,
                      int vocab_size);

// Layers that are not llama's, by the object that has their sizes.
void RefuseOtherLayers(const ConfigReader& sizes);

// Of EAGLE-3: taps in two places that differ, or where this layout has none
// (`in_section`: it has them in kTapsSection), or a flag that there are none.
void CheckTapKeys(const ConfigReader& in, bool in_section);

// Which token each logit of a head means, where it has logits for some of its
// target's tokens alone.

// The table that leads from a logit to the target's token, and the one that
// says whether a token has a logit.
inline constexpr char kLogitMap[] = "d2t";
inline constexpr char kKept[] = "t2d";

// EagleFile::token_of, of an open head. Fails with InvalidArgument, which names
// directory and table, where a table is of another shape or type, leads out of
// the target's vocabulary, or contradicts the other one or draft_vocab_size.
absl::StatusOr<std::vector<TokenId>> ReadTokens(const Checkpoint& checkpoint,
                                                const EagleTarget& target,
                                                const EagleSpec& spec);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_EAGLE_LAYOUTS_H_
