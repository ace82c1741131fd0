#include "experiments/plan/presets.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/messages.h"

namespace banyan {
namespace {

namespace fs = std::filesystem;

constexpr char kPresets[] = "configs/methods";
constexpr char kEnding[] = ".yaml";

bool IsHome(const fs::path& folder) {
  std::error_code error;
  return fs::is_directory(folder / kPresets, error);
}

// Returns the nearest home at or above `folder`; empty if there is none.
fs::path HomeAbove(fs::path folder) {
  while (!folder.empty()) {
    if (IsHome(folder)) return folder;
    const fs::path parent = folder.parent_path();
    if (parent == folder) break;
    folder = parent;
  }
  return {};
}

bool IsPath(absl::string_view text) {
  return absl::StrContains(text, '/') || absl::EndsWith(text, kEnding);
}

}  // namespace

std::string HomeFolder() {
  std::error_code error;
  fs::path home;
  if (const char* stated = std::getenv("BANYAN_HOME"); stated != nullptr)
    home = stated;
  if (home.empty())
    home = HomeAbove(fs::read_symlink("/proc/self/exe", error).parent_path());
  if (home.empty()) home = HomeAbove(fs::current_path(error));
  // Shorter where the program runs in it.
  const fs::path here = fs::proximate(home, error);
  return error || home.empty() || absl::StartsWith(here.string(), "..")
             ? home.string()
             : here.string();
}

std::string PresetFolder() {
  const fs::path home = HomeFolder();
  return home.empty() ? "" : (home / kPresets).lexically_normal().string();
}

std::vector<std::string> PresetNames() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(PresetFolder(), error))
    if (entry.path().extension() == kEnding)
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<Params> LoadPreset(const Params& value) {
  std::string text;
  BANYAN_RETURN_IF_ERROR(Convert(value, text));
  if (IsPath(text)) {
    absl::StatusOr<Params> file = LoadYamlFile(Beside(value, text));
    return file.ok() ? file : value.Error(file.status().message());
  }
  const std::vector<std::string> names = PresetNames();
  if (names.empty())
    return value.Error(
        absl::StrCat("preset '", text,
                     "': there is no folder configs/methods above the "
                     "program; BANYAN_HOME may name the folder it is in"));
  if (!std::binary_search(names.begin(), names.end(), text)) {
    const std::vector<absl::string_view> known(names.begin(), names.end());
    const absl::string_view near = Nearest(text, known);
    return value.Error(absl::StrCat(
        "unknown preset '", text, "'",
        near.empty() ? "" : absl::StrCat("; did you mean '", near, "'?"),
        " `banyan list presets` has all; a file's path has a slash or ends "
        "in .yaml"));
  }
  return LoadYamlFile((fs::path(PresetFolder()) / (text + kEnding)).string());
}

}  // namespace banyan
