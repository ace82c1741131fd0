#include "experiments/plan/preset_list.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <set>

#include "absl/strings/strip.h"
#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/input_files.h"
#include "core/base/params.h"
#include "core/json/json_value.h"
#include "experiments/plan/made_for.h"
#include "experiments/plan/method_spec.h"
#include "experiments/plan/presets.h"
#include "experiments/plan/read_method.h"

namespace banyan {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostPresetBytes = std::size_t{1} << 20;
constexpr char kMeasured[] = "configs/measured_presets.json";

// The lines of the comment that opens a file, as one text.
std::string OpeningComment(absl::string_view text) {
  std::string comment;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, "#")) break;
    absl::StrAppend(&comment, comment.empty() ? "" : " ",
                    absl::StripAsciiWhitespace(line));
  }
  return comment;
}

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The targets that all these drafters were made for, of those that ship.
std::vector<std::string> TargetsOf(const std::vector<std::string>& drafters,
                                   const std::vector<MadeFor>& shipped) {
  std::set<std::string> targets;
  for (const MadeFor& one : shipped)
    if (Has(drafters, one.drafter)) targets.insert(one.target);
  std::vector<std::string> whole;
  for (const std::string& target : targets) {
    const bool has_all = std::all_of(
        drafters.begin(), drafters.end(), [&](const std::string& drafter) {
          return std::any_of(
              shipped.begin(), shipped.end(), [&](const MadeFor& one) {
                return one.target == target && one.drafter == drafter;
              });
        });
    if (has_all) whole.push_back(target);
  }
  return whole;
}

absl::StatusOr<MeasuredPreset> ReadMeasured(const std::string& target,
                                            const JsonAt& numbers) {
  MeasuredPreset measured = {.target = target};
  BANYAN_ASSIGN_OR_RETURN(measured.tokens_per_pass,
                          numbers.At("tokens_per_pass").Number());
  BANYAN_ASSIGN_OR_RETURN(measured.speedup, numbers.At("speedup").Number());
  BANYAN_ASSIGN_OR_RETURN(measured.low, numbers.At("low").Number());
  BANYAN_ASSIGN_OR_RETURN(measured.high, numbers.At("high").Number());
  return measured;
}

// Adds the numbers of the file that scripts/methods writes; without it, none.
absl::Status AddMeasured(std::vector<PresetFacts>& presets) {
  const std::string path = (fs::path(HomeFolder()) / kMeasured).string();
  const absl::StatusOr<std::string> text = ReadFile(path, kMostPresetBytes);
  if (absl::IsNotFound(text.status())) return absl::OkStatus();
  BANYAN_RETURN_IF_ERROR(text.status());
  BANYAN_ASSIGN_OR_RETURN(const JsonTree tree, JsonTree::Parse(*text, path));
  return tree.root().ForEachKey(
      [&](const std::string& target, const JsonAt& of_target) -> absl::Status {
        for (PresetFacts& preset : presets) {
          const JsonAt numbers = of_target.At(preset.name);
          if (!numbers.exists()) continue;
          BANYAN_ASSIGN_OR_RETURN(preset.measured.emplace_back(),
                                  ReadMeasured(target, numbers));
        }
        return absl::OkStatus();
      });
}

}  // namespace

absl::StatusOr<std::vector<PresetFacts>> ListPresets() {
  std::vector<PresetFacts> presets;
  const std::vector<MadeFor> shipped = ShippedDrafters();
  for (const std::string& name : PresetNames()) {
    PresetFacts& preset = presets.emplace_back();
    preset.name = name;
    preset.file = (fs::path(PresetFolder()) / (name + ".yaml")).string();
    BANYAN_ASSIGN_OR_RETURN(const std::string text,
                            ReadFile(preset.file, kMostPresetBytes));
    preset.sentence = OpeningComment(text);
    BANYAN_ASSIGN_OR_RETURN(const Params file, LoadYamlFile(preset.file));
    for (const NamedModel& model : ReadMethodSpec(file).models) {
      if (model.spec.copy) continue;
      const absl::StatusOr<MadeFor> made_for =
          ReadMadeFor(model.spec.directory);
      if (made_for.ok())
        preset.drafters.push_back(made_for->drafter);
      else
        preset.others.push_back(
            fs::path(model.spec.directory).lexically_normal().string());
    }
    if (!preset.drafters.empty())
      preset.targets = TargetsOf(preset.drafters, shipped);
  }
  BANYAN_RETURN_IF_ERROR(AddMeasured(presets));
  return presets;
}

}  // namespace banyan
