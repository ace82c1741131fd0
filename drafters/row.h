// DrafterRow: what a drafter says of itself, beside its code. The catalogue is
// a list of these.
#ifndef BANYAN_DRAFTERS_ROW_H_
#define BANYAN_DRAFTERS_ROW_H_

#include <functional>
#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/base/params.h"
#include "drafters/drafter.h"
#include "drafters/head_tools.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"

namespace banyan {

// What `banyan make layers` chooses for a drafter: an exit of the target's
// layers, or the blocks that are left out.
enum class SearchOver { kNothing, kExits, kBlocks };

// For a drafter that reads heads trained for its target; null: it cannot.
struct HeadTools {
  OpenGrowableHeads growable = nullptr;  // opens heads that grow with a target
  ExamineHead examine = nullptr;         // finds whether files are read rightly
  DescribeHead describe = nullptr;       // what a run says of its heads
};

using BuiltDrafter = absl::StatusOr<std::unique_ptr<Drafter>>;

struct DrafterRow {
  absl::string_view name;
  absl::string_view sentence;
  std::vector<DrawKind> draw_kinds;  // as DrafterTraits
  // All keys that `build` reads, but `name`. It asks for each of them before it
  // returns for whatever reason.
  std::vector<KeyRow> keys = {};
  std::function<BuiltDrafter(ParamsReader& in, Workbench& bench)> build;
  // Sections that conformance builds, in YAML; a model named `draft`, models of
  // other vocabularies named `fewer`, `more` and `others`, heads named `heads`,
  // a head named `head`, an index named `index`, and a file of counts beside
  // them exist.
  std::vector<absl::string_view> examples;
  // The key under which `models` of a method file names its folder, such as
  // `heads`; empty: it has none.
  absl::string_view folder_key = {};
  // The key of its section whose value is a name of `models`; empty: none.
  absl::string_view model_key = {};
  // Whether it has the key `vocabulary` (draft_vocabulary.h), for which the
  // folder of that model may have a file.
  bool takes_vocabulary = false;
  HeadTools heads = {};
  SearchOver search = SearchOver::kNothing;
  // Whether a device can draft so that runs rounds without the host
  // (DeviceCounterpart).
  bool on_device = false;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_ROW_H_
