#include "experiments/plan/cell_setting.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/params.h"
#include "decode/method.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/method_spec.h"
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

void AddModel(const ModelSpec& model, std::string& out) {
  absl::StrAppend(&out, model.reserved, " ", model.copy, " ");
  for (const std::string& text :
       {model.directory, model.weights, model.memory, model.copies})
    AddText(text, out);
}

void AddMethod(const MethodSpec& method, std::string& out) {
  absl::StrAppend(&out, method.models.size(), " ", method.drafters.size(), " ",
                  method.trunks.size(), " ", Name(method.scoring), " ");
  for (const NamedModel& model : method.models) {
    AddText(model.name, out);
    AddText(model.folder_key, out);
    AddValue(model.place, out);
    AddModel(model.spec, out);
  }
  for (const Params& drafter : method.drafters) AddValue(drafter, out);
  for (const TrunkSpec& trunk : method.trunks) {
    absl::StrAppend(&out, trunk.drafter, " ");
    AddValue(trunk.policy.section(), out);
  }
  AddValue(method.verifier, out);
  AddText(method.errors.status().message(), out);
}

}  // namespace

std::string SettingOf(const ExperimentCell& cell) {
  std::string out = absl::StrCat(cell.max_new_tokens, " ", cell.ignore_eos, " ",
                                 cell.batch, " ");
  AddText(cell.method, out);
  AddModel(cell.target, out);
  AddValue(Params::Map(cell.sampling), out);
  AddMethod(cell.spec, out);
  return out;
}

}  // namespace banyan
