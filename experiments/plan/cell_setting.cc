#include "experiments/plan/cell_setting.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/params.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/model_spec.h"

namespace banyan {
namespace {

// With its length, so that two texts cannot run into each other.
void AddText(absl::string_view text, std::string& out) {
  absl::StrAppend(&out, text.size(), ":", text);
}

void AddValue(const Params& value, std::string& out) {
  const Origin& at = value.origin();
  if (at.file != nullptr) AddText(*at.file, out);
  absl::StrAppend(&out, ":", at.line, ":", at.column, " ",
                  static_cast<int>(value.kind()), " ", value.items().size(),
                  " ", value.entries().size(), " ");
  AddText(value.text(), out);
  for (const Params& item : value.items()) AddValue(item, out);
  for (const Params::Entry& entry : value.entries()) {
    AddText(entry.key, out);
    AddValue(entry.value, out);
  }
}

}  // namespace

std::string SettingOf(const ExperimentCell& cell) {
  const ModelSpec& target = cell.target;
  std::string out =
      absl::StrCat(target.reserved, " ", target.copy, " ", cell.max_new_tokens,
                   " ", cell.ignore_eos, " ", cell.batch, " ");
  for (const std::string& text : {cell.method, target.directory, target.weights,
                                  target.memory, target.copies})
    AddText(text, out);
  AddValue(Params::Map(cell.sampling), out);
  AddValue(cell.section, out);
  return out;
}

}  // namespace banyan
