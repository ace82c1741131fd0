#include "tests/experiments/preset_files.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "configs/loader/yaml.h"
#include "core/base/check.h"
#include "experiments/plan/params_edit.h"
#include "tests/support/made/shipped_index.h"

namespace banyan {

const std::vector<std::string>& DraftingPresets() {
  static const auto& names = *new std::vector<std::string>([] {
    std::vector<std::string> found;
    for (const auto& entry :
         std::filesystem::directory_iterator("configs/methods")) {
      const std::filesystem::path& file = entry.path();
      if (file.extension() == ".yaml" && file.stem() != "plain")
        found.push_back(file.stem().string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }());
  return names;
}

bool DraftsFromText(const std::string& preset) {
  static const auto& names = *new std::set<std::string>{
      "hybrid_suffix", "recycling", "recycling_warm", "reference",
      "sam",           "sam_eagle", "suffix",         "reference_rewrite",
      "suffix_tree",   "trie",      "suffix_warm",    "trie_warm"};
  return names.contains(preset);
}

const char* TextFor(const std::string& preset, const char* other) {
  if (preset == "reference_rewrite")  // whose first draft is the beginning
    return "import sys\nimport os\n";
  if (preset == "bild")  // after which its small model is sure, and drafts
    return "    self.left = left\n    self.right = right\n    self";
  if (!DraftsFromText(preset)) return other;
  return "    {\"line\": 1, \"stop\": 1, \"name\": \"Hall\", \"zone\": "
         "\"A\"},\n"
         "    {\"line\": 1, \"stop\": 2, \"name\": \"Mill\", \"zone\": "
         "\"B\"},\n"
         "    {\"line\": 1, \"stop\": 2,";
}

Params Preset(const std::string& name) {
  auto file = LoadYamlFile(absl::StrCat("configs/methods/", name, ".yaml"));
  Check(file.ok(), file.status().message());
  if (name == "rest") {
    auto here = WithValue(*file, "models.library.index",
                          Params::Scalar(ShippedIndex()));
    Check(here.ok(), here.status().message());
    return *std::move(here);
  }
  if (name != "auto" && name != "eagle_auto") return *std::move(file);
  auto flat = WithValue(*file, "policy.target_ms",
                        *ParseYaml("{1: 1, 65: 1.1}", "flat"));
  Check(flat.ok(), flat.status().message());
  // The level's time stays that of the costs.
  flat = WithValue(*flat, "policy.draft_ms",
                   *file->Find("policy")->Find("target_ms"));
  Check(flat.ok(), flat.status().message());
  return *std::move(flat);
}

std::shared_ptr<CpuBackend> OneThread() {
  auto backend = CpuBackend::Create({.threads = 1});
  Check(backend.ok(), backend.status().message());
  return *std::move(backend);
}

}  // namespace banyan
