#include "experiments/run/method_file.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/prob/sampling_rule.h"
#include "core/tokenizer/chat_template.h"
#include "decode/method.h"
#include "drafters/catalogue.h"
#include "drafters/drafter.h"
#include "drafters/workbench.h"
#include "experiments/plan/method_sections.h"
#include "experiments/run/loaded_model.h"

namespace banyan {
namespace {

constexpr char kTarget[] = "target";  // as a directory: the target's own

// Tokens are handed over by number: the same number must be the same token.
absl::Status CheckVocabularies(const LoadedModel& drafter,
                               const LoadedModel& target) {
  if (drafter.tokenizer == nullptr || target.tokenizer == nullptr)
    return absl::OkStatus();
  const int common =
      std::min(drafter.tokenizer->vocab_size(), target.tokenizer->vocab_size());
  for (TokenId id = 0; id < common; ++id) {
    const auto own = drafter.tokenizer->TokenText(id);
    const auto its = target.tokenizer->TokenText(id);
    if (own.ok() && its.ok() && *own != *its)
      return absl::InvalidArgumentError(absl::StrCat(
          "token ", id, " is '", absl::Utf8SafeCEscape(*own), "' here and '",
          absl::Utf8SafeCEscape(*its), "' in the target's tokenizer.json"));
  }
  return absl::OkStatus();
}

// Adds the models of a method file.
class ModelAdder {
 public:
  ModelAdder(const LoadedModel& target, const MethodContext& context,
             LoadedMethod& method)
      : target_(target), context_(context), method_(method) {}

  absl::Status Add(const Params* models) {
    if (models == nullptr) return absl::OkStatus();
    if (models->kind() != Params::Kind::kMap)
      return models->Expected("a map from names to models");
    for (const Params::Entry& entry : models->entries())
      BANYAN_RETURN_IF_ERROR(AddOne(entry));
    return absl::OkStatus();
  }

 private:
  // What some drafter opens for itself, once it is asked to.
  absl::Status AddFolder(const std::string& name, absl::string_view key,
                         const Params& place) {
    std::string directory;
    BANYAN_RETURN_IF_ERROR(Convert(place, directory));
    method_.bench->AddFolder(name, key, place);
    method_.models.push_back({name, Beside(place, directory), nullptr});
    return absl::OkStatus();
  }

  absl::Status AddOne(const Params::Entry& entry) {
    ParamsReader in(entry.value, absl::StrCat("model ", entry.key));
    for (absl::string_view key : DrafterFolderKeys()) {
      const Params* place = in.Take(key);
      if (place == nullptr) continue;
      BANYAN_RETURN_IF_ERROR(in.Finish());
      return AddFolder(entry.key, key, *place);
    }
    ModelSpec spec = TakeModelSpec(in);
    BANYAN_RETURN_IF_ERROR(in.Finish());
    const Params& place = *entry.value.Find("directory");
    if (place.text() == kTarget) spec.directory = context_.target.directory;
    const absl::StatusOr<LoadedModel> loaded = context_.shelf.Open(spec);
    if (!loaded.ok()) return place.Error(loaded.status().message());
    const absl::Status alike = CheckVocabularies(*loaded, target_);
    if (!alike.ok()) return place.Error(alike.message());
    method_.bench->AddModel(entry.key, loaded->model);
    method_.models.push_back({entry.key, spec.directory, loaded->model});
    return absl::OkStatus();
  }

  const LoadedModel& target_;
  const MethodContext& context_;
  LoadedMethod& method_;
};

// No model stands in the file for nothing.
absl::Status CheckModelsAreUsed(const Params* models, const Workbench& bench) {
  if (models == nullptr) return absl::OkStatus();
  for (const Params::Entry& entry : models->entries())
    if (!bench.opened(entry.key))
      return ErrorAt(entry.key_origin,
                     absl::StrCat("no drafter uses model '", entry.key, "'"));
  return absl::OkStatus();
}

// The file's rule, overridden key by key.
absl::StatusOr<SamplingRule> Override(const MethodSections& sections,
                                      std::vector<Params::Entry> overrides) {
  BANYAN_ASSIGN_OR_RETURN(SamplingRule rule, ReadSampling(sections));
  if (overrides.empty()) return rule;
  std::vector<Params::Entry> entries = std::move(overrides);
  const std::size_t count = entries.size();
  if (sections.sampling != nullptr) {
    for (const Params::Entry& entry : sections.sampling->entries()) {
      const bool overridden = std::any_of(
          entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(count),
          [&](const auto& own) { return own.key == entry.key; });
      if (!overridden) entries.push_back(entry);
    }
  }
  return SamplingRule::FromParams(Params::Map(std::move(entries)));
}

}  // namespace

absl::StatusOr<LoadedMethod> ReadMethodFile(const Params& file,
                                            const MethodContext& context) {
  LoadedMethod loaded;
  ParamsReader in(file, "method file");
  const Params* models = in.Take("models");
  if (models != nullptr && models->kind() == Params::Kind::kNull)
    models = nullptr;
  const Params* chat = in.Take("chat_template");
  const MethodSections sections = TakeMethodSections(in);
  BANYAN_RETURN_IF_ERROR(in.Finish());
  if (chat != nullptr) {
    BANYAN_RETURN_IF_ERROR(Convert(*chat, loaded.chat_template));
    const absl::Status known =
        ChatTemplate::Named(loaded.chat_template).status();
    if (!known.ok()) return chat->Error(known.message());
  }
  BANYAN_ASSIGN_OR_RETURN(const SamplingRule rule,
                          Override(sections, context.sampling));
  BANYAN_ASSIGN_OR_RETURN(Method method, StartMethod(sections, rule));

  BANYAN_ASSIGN_OR_RETURN(const LoadedModel target,
                          context.shelf.Open(context.target));
  loaded.target = target.model;
  loaded.bench =
      std::make_unique<Workbench>(loaded.target, rule, context.shelf.assets());
  BANYAN_RETURN_IF_ERROR(ModelAdder(target, context, loaded).Add(models));
  const auto make = [&](int number) -> absl::StatusOr<NamedDrafter> {
    const Params& section = sections.drafters[static_cast<std::size_t>(number)];
    BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Drafter> drafter,
                            BuildDrafter(section, *loaded.bench));
    return NamedDrafter{section.Find("name")->text(), std::move(drafter)};
  };
  BANYAN_RETURN_IF_ERROR(AddTrunks(sections, make, method));
  BANYAN_RETURN_IF_ERROR(CheckModelsAreUsed(models, *loaded.bench));
  BANYAN_ASSIGN_OR_RETURN(
      loaded.decoder,
      MakeDecoder(sections, *loaded.target, std::move(method), context.clock));
  return loaded;
}

std::vector<std::string> ShortDrafters(const LoadedMethod& method,
                                       int longest) {
  std::vector<std::string> notes;
  for (const MethodModel& drafter : method.models)
    if (drafter.model != nullptr && drafter.model->context_limit() < longest)
      notes.push_back(absl::StrCat("the drafting model ", drafter.name, " (",
                                   drafter.directory, ") holds ",
                                   drafter.model->context_limit(),
                                   " tokens: behind them it drafts nothing"));
  return notes;
}

absl::StatusOr<LoadedMethod> PlainMethod(const MethodContext& context) {
  // With nothing drafted every verifier draws the target's token; this one
  // takes any sampling rule.
  const Params name = Params::Scalar("match");
  const Params verifier = Params::Map({{"name", {}, name}});
  const Params file = Params::Map({{"verifier", {}, verifier}});
  return ReadMethodFile(file, context);
}

}  // namespace banyan
