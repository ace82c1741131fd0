// made_for.json: says for which target a drafter's folder was made. By it a
// preset finds the drafters of the target at hand.
//
//   {"drafter": "eagle3", "target": "SmolLM2-135M-Instruct",
//    "tokenizer": "3a65df582f45a486", "hidden_size": 576, "layers": 30}
//
// `drafter` says what the folder can be used for: presets that want one, find
// another of the same word. `tokenizer` is the name of the target's tokens
// (vocabulary.h). Only drafters that read the target's states have the sizes.
#ifndef BANYAN_EXPERIMENTS_PLAN_MADE_FOR_H_
#define BANYAN_EXPERIMENTS_PLAN_MADE_FOR_H_

#include <map>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "experiments/plan/method_spec.h"

namespace banyan {

inline constexpr char kMadeForFile[] = "made_for.json";

struct MadeFor {
  std::string drafter;
  std::string target;     // its name, for messages
  std::string tokenizer;  // empty: the target has none
  int hidden_size = 0;    // 0: works for every size
  int layers = 0;         // the same
};

// Reads the file in the drafter's folder. NotFound if there is none.
absl::StatusOr<MadeFor> ReadMadeFor(const std::string& folder);
// Returns the file's text.
std::string ToJson(const MadeFor& made_for);

// Finds drafters; keeps what it read of targets.
class DrafterFinder {
 public:
  // Puts the drafters made for the target at `directory` in the place of those
  // that a preset names, where these were made for another target. Looks among
  // the folders beside those and beside the target. Models that another file
  // than a preset names stay. Fails, where the preset names the model, if there
  // is none.
  absl::Status Fit(const std::string& directory, MethodSpec& method);

 private:
  // What a drafter has to fit; without sizes and tokenizer where they are
  // unknown.
  const MadeFor& Target(const std::string& directory);

  std::map<std::string, MadeFor> targets_;
};

// Returns what the drafters in the home's models were made for.
std::vector<MadeFor> ShippedDrafters();

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_MADE_FOR_H_
