// Keys of a head's config.json that contradict its tensors or each other, or
// that ask for something nobody here knows: all are noted in the reader.
#ifndef BANYAN_DRAFTERS_HEADS_EAGLE_CONFIG_CHECKS_H_
#define BANYAN_DRAFTERS_HEADS_EAGLE_CONFIG_CHECKS_H_

#include <set>

#include "absl/strings/string_view.h"
#include "core/checkpoint/config_reader.h"

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_EAGLE_CONFIG_CHECKS_H_
