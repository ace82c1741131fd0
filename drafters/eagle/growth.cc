#include "drafters/eagle/growth.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/counted.h"
#include "core/base/status_macros.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/checkpoint.h"
#include "drafters/eagle/layouts.h"
#include "drafters/head_growth.h"

namespace banyan {

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
  const auto add = [&heads](const std::string& name,
                            const StoredTensor& stored) {
    heads.tensors.push_back({.name = name, .stored = stored});
  };
  ForEachSource(spec.network, [&](const WeightSource& source) {
    add(source.tensor, *head->Find(source.tensor));
  });
  for (const std::string& table : spec.network.tables)
    add(table, *head->Find(table));
  if (!spec.network.embedding.present())
    add(spec.embedding_name, *target.checkpoint->Find(old.embedding.tensor));
  if (!spec.network.head.present())
    add("lm_head.weight", *target.checkpoint->Find(old.head.tensor));
  heads.summary = absl::StrCat(
      spec.layout, ", ",
      Counted(static_cast<int>(spec.network.layers.size()), "layer"),
      ", which reads the numbers of the states that were there");
  heads.facts = {{"layers", static_cast<int>(spec.network.layers.size())},
                 {"taps", static_cast<int>(spec.taps.size())},
                 {"own_vocabulary", spec.own_vocabulary}};
  heads.keys = {{"", "target_hidden_size", target.new_hidden_size},
                {"", "target_coordinates", target.hidden_size}};
  if (spec.tap_shift < 0) return heads;
  std::vector<int> numbers = spec.taps;
  for (int& number : numbers) number -= spec.tap_shift;
  heads.keys.push_back({spec.taps_in_section ? "eagle_config" : "",
                        "eagle_aux_hidden_state_layer_ids", numbers});
  return heads;
}

}  // namespace banyan
