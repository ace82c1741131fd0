#include "experiments/plan/made_for.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "core/base/input_files.h"
#include "core/base/messages.h"
#include "core/base/params.h"
#include "core/gguf/model_text.h"
#include "core/json/json_value.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/vocabulary.h"
#include "experiments/plan/opponents.h"
#include "experiments/plan/presets.h"

namespace banyan {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostCardBytes = std::size_t{1} << 24;
constexpr absl::string_view kKeys[] = {"drafter", "target", "tokenizer",
                                       "hidden_size", "layers"};

absl::StatusOr<int> Size(const JsonAt& at) {
  if (!at.exists()) return 0;
  BANYAN_ASSIGN_OR_RETURN(const std::int64_t size, at.Int());
  if (size < 1 || size > (1 << 30)) return at.Expected("a number from 1 on");
  return static_cast<int>(size);
}

// Whether a drafter made for `its` works for `target`. What is not known of the
// target decides nothing.
bool Fits(const MadeFor& its, const MadeFor& target) {
  const auto alike = [](int a, int b) { return a == 0 || b == 0 || a == b; };
  const bool same_tokens = its.tokenizer.empty() || target.tokenizer.empty() ||
                           its.tokenizer == target.tokenizer;
  return same_tokens && alike(its.hidden_size, target.hidden_size) &&
         alike(its.layers, target.layers);
}

// The number under one of the names that families have for it; 0: none is
// known.
int ConfigNumber(const JsonAt& config, absl::string_view name,
                 absl::string_view gpt2_name) {
  const JsonAt at =
      config.At(name).exists() ? config.At(name) : config.At(gpt2_name);
  return Size(at).value_or(0);
}

struct FoundDrafter {
  fs::path folder;
  MadeFor made_for;
};

// What the folders in `folder` were made for, by name.
std::vector<FoundDrafter> DraftersIn(const fs::path& folder) {
  std::vector<FoundDrafter> found;
  std::error_code error;
  for (const auto& entry :
       fs::directory_iterator(folder.empty() ? fs::path(".") : folder, error)) {
    absl::StatusOr<MadeFor> made_for = ReadMadeFor(entry.path().string());
    if (made_for.ok()) found.push_back({entry.path(), *std::move(made_for)});
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.folder < b.folder; });
  return found;
}

bool IsOfPreset(const NamedModel& model) {
  const Origin& origin = model.place.origin();
  if (origin.file == nullptr) return false;
  std::error_code error;
  const fs::path folder =
      fs::weakly_canonical(*origin.file, error).parent_path();
  return !error && folder == fs::weakly_canonical(PresetFolder(), error);
}

std::string Describe(const MadeFor& target) {
  std::vector<std::string> facts;
  if (target.hidden_size > 0)
    facts.push_back(absl::StrCat("hidden size ", target.hidden_size));
  if (target.layers > 0)
    facts.push_back(absl::StrCat(target.layers, " layers"));
  if (!target.tokenizer.empty())
    facts.push_back(absl::StrCat("tokens ", target.tokenizer));
  return facts.empty() ? target.target
                       : absl::StrCat(target.target, " (",
                                      absl::StrJoin(facts, ", "), ")");
}

// None of `found` fits the target.
absl::Status NoneFits(const NamedModel& model, const std::string& drafter,
                      const MadeFor& target,
                      const std::vector<FoundDrafter>& found) {
  std::set<std::string> others;
  for (const FoundDrafter& other : found)
    if (other.made_for.drafter == drafter) others.insert(other.made_for.target);
  return model.place.Error(absl::StrCat(
      "no ", drafter, " was made for ", Describe(target), ": there is one for ",
      absl::StrJoin(others, ", "), " (", kMadeForFile,
      " in their folders). `banyan list presets` says which need none; "
      "training/README.md, how to train one"));
}

}  // namespace

absl::StatusOr<MadeFor> ReadMadeFor(const std::string& folder) {
  const std::string path = (fs::path(folder) / kMadeForFile).string();
  BANYAN_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMostCardBytes));
  BANYAN_ASSIGN_OR_RETURN(const JsonTree tree, JsonTree::Parse(text, path));
  const JsonAt root = tree.root();
  BANYAN_RETURN_IF_ERROR(root.HasOnly(kKeys));
  MadeFor made_for;
  BANYAN_ASSIGN_OR_RETURN(made_for.drafter, root.At("drafter").String());
  BANYAN_ASSIGN_OR_RETURN(made_for.target, root.At("target").String());
  BANYAN_ASSIGN_OR_RETURN(made_for.tokenizer,
                          root.At("tokenizer").StringOr(""));
  BANYAN_ASSIGN_OR_RETURN(made_for.hidden_size, Size(root.At("hidden_size")));
  BANYAN_ASSIGN_OR_RETURN(made_for.layers, Size(root.At("layers")));
  return made_for;
}

std::string ToJson(const MadeFor& made_for) {
  JsonValue json = {{"drafter", made_for.drafter},
                    {"target", made_for.target},
                    {"tokenizer", made_for.tokenizer}};
  if (made_for.hidden_size > 0) json["hidden_size"] = made_for.hidden_size;
  if (made_for.layers > 0) json["layers"] = made_for.layers;
  return json.Text(2) + "\n";
}

const MadeFor& DrafterFinder::Target(const std::string& directory) {
  const auto [at, is_new] = targets_.try_emplace(directory);
  MadeFor& target = at->second;
  if (!is_new) return target;
  target.target = FolderName(directory);
  // What cannot be read is told where the target is opened.
  const absl::StatusOr<std::string> text =
      ReadModelText(directory, "config.json", kMostCardBytes);
  if (!text.ok()) return target;
  if (const absl::StatusOr<JsonTree> config = JsonTree::Parse(*text, directory);
      config.ok()) {
    target.hidden_size = ConfigNumber(config->root(), "hidden_size", "n_embd");
    target.layers =
        ConfigNumber(config->root(), "num_hidden_layers", "n_layer");
  }
  if (const absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer =
          Tokenizer::Load(directory);
      tokenizer.ok())
    target.tokenizer = NameOfTokens(**tokenizer);
  return target;
}

absl::Status DrafterFinder::Fit(const std::string& directory,
                                MethodSpec& method) {
  Errors errors;
  for (NamedModel& model : method.models) {
    if (model.spec.copy || !IsOfPreset(model)) continue;
    const fs::path named = model.spec.directory;
    const absl::StatusOr<MadeFor> own = ReadMadeFor(named.string());
    if (!own.ok()) continue;
    const MadeFor& target = Target(directory);
    if (Fits(*own, target)) continue;
    std::vector<FoundDrafter> found =
        DraftersIn((fs::path(directory) / "..").lexically_normal());
    for (FoundDrafter& shipped : DraftersIn(named.parent_path()))
      found.push_back(std::move(shipped));
    const auto fit =
        std::find_if(found.begin(), found.end(), [&](const auto& other) {
          return other.made_for.drafter == own->drafter &&
                 Fits(other.made_for, target);
        });
    if (fit == found.end()) {
      errors.Add(NoneFits(model, own->drafter, target, found));
      continue;
    }
    model.spec.directory = fit->folder.lexically_normal().string();
    // Where it was written, with a path that is not beside that.
    model.place = Params::Scalar(fs::absolute(fit->folder).lexically_normal(),
                                 model.place.origin());
  }
  return errors.status();
}

std::vector<MadeFor> ShippedDrafters() {
  std::vector<MadeFor> all;
  for (FoundDrafter& found : DraftersIn(fs::path(HomeFolder()) / "models"))
    all.push_back(std::move(found.made_for));
  return all;
}

}  // namespace banyan
