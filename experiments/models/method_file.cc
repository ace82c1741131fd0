#include "experiments/models/method_file.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/errors.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/base/weight_format.h"
#include "core/ops/outline.h"
#include "core/prob/sampling_rule.h"
#include "core/tokenizer/chat_template.h"
#include "decode/method.h"
#include "drafters/catalogue.h"
#include "drafters/drafter.h"
#include "drafters/row.h"
#include "drafters/workbench.h"
#include "experiments/models/loaded_model.h"
#include "experiments/plan/method_sections.h"
#include "experiments/plan/model_spec.h"
#include "tree/policies/catalogue.h"

namespace banyan {
namespace {

constexpr char kTarget[] = "target";  // as a directory: the target's own

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
    Errors errors;
    for (const Params::Entry& entry : models->entries())
      errors.Add(AddOne(entry));
    return errors.status();
  }

 private:
  // What some drafter opens for itself, once it is asked to.
  absl::Status AddFolder(const std::string& name, absl::string_view key,
                         const Params& place) {
    std::string directory;
    BANYAN_RETURN_IF_ERROR(Convert(place, directory));
    method_.bench->AddFolder(name, key, place);
    MethodModel folder = {.name = name, .directory = Beside(place, directory)};
    for (const DrafterRow& row : DrafterCatalogue()) {
      if (row.folder_key != key || row.heads.describe == nullptr) continue;
      // What fails is told where a drafter opens it.
      folder.about =
          row.heads.describe(*target_.model, folder.directory).value_or("");
    }
    method_.models.push_back(std::move(folder));
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
    if (place.text() == kTarget) {
      spec.directory = context_.target.directory;
      spec.copy = true;
    }
    const absl::StatusOr<LoadedModel> loaded =
        !spec.copy                  ? context_.shelf.Open(spec)
        : context_.counts_no_copies ? target_
                                    : context_.shelf.OpenCopy(spec, target_);
    if (!loaded.ok()) return place.Error(loaded.status().message());
    method_.bench->AddModel(entry.key, loaded->model, loaded->tokenizer,
                            spec.copy ? Params() : place);
    method_.models.push_back({.name = entry.key,
                              .directory = spec.directory,
                              .model = loaded->model});
    return absl::OkStatus();
  }

  const LoadedModel& target_;
  const MethodContext& context_;
  LoadedMethod& method_;
};

// The format of the target's copies among the models; empty: there are none.
absl::StatusOr<std::string> CopiesIn(const Params& models) {
  std::string copies;
  if (models.kind() != Params::Kind::kMap) return copies;
  for (const Params::Entry& entry : models.entries()) {
    if (entry.value.kind() != Params::Kind::kMap) continue;
    const Params* directory = entry.value.Find("directory");
    if (directory == nullptr || directory->text() != kTarget) continue;
    const Params* weights = entry.value.Find("weights");
    const std::string format =
        weights == nullptr ? std::string() : weights->text();
    if (!FindFormat(format).has_value() ||
        (!copies.empty() && copies != format))
      return entry.value.Expected(
          "one format of weights, such as q8, for all copies of a target whose "
          "memory is bounded");
    copies = format;
  }
  return copies;
}

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

// `stated` is where the rule's key `banned` stands, if it does.
absl::Status CheckFits(const SamplingRule& rule, const Params* stated,
                       int vocab_size) {
  const absl::Status fits = rule.CheckFits(vocab_size);
  return fits.ok() || stated == nullptr ? fits : stated->Error(fits.message());
}

// Of `overrides` or, without it there, of the file.
const Params* FindBanned(const MethodSections& sections,
                         const std::vector<Params::Entry>& overrides) {
  for (const Params::Entry& entry : overrides)
    if (entry.key == "banned") return &entry.value;
  return sections.sampling == nullptr ? nullptr
                                      : sections.sampling->Find("banned");
}

// What a method file says before any model is opened.
struct Stated {
  bool has_right_keys = false;
  const Params* models = nullptr;
  std::string chat_template;
  MethodSections sections;
  SamplingRule rule;
  std::vector<std::string> policy_files;
  Method method;  // without trunks
};

Stated ReadStated(const Params& file,
                  const std::vector<Params::Entry>& sampling, Errors& errors) {
  Stated stated;
  ParamsReader in(file, "method file");
  stated.models = in.Take("models");
  if (stated.models != nullptr && stated.models->kind() == Params::Kind::kNull)
    stated.models = nullptr;
  if (in.Optional("chat_template", stated.chat_template)) {
    const auto known = ChatTemplate::Named(stated.chat_template);
    if (!known.ok())
      in.Note(file.Find("chat_template")->Error(known.status().message()));
  }
  stated.sections = TakeMethodSections(in);
  const absl::Status keys = in.Finish();
  stated.has_right_keys = keys.ok();
  errors.Add(keys);
  absl::StatusOr<SamplingRule> rule = Override(stated.sections, sampling);
  errors.Add(rule.status());
  if (rule.ok()) stated.rule = *std::move(rule);
  if (file.Find("verifier") != nullptr) {
    absl::StatusOr<Method> method = StartMethod(stated.sections, stated.rule);
    errors.Add(method.status());
    if (method.ok()) stated.method = *std::move(method);
  }
  for (const Params* policy : PolicySections(stated.sections)) {
    const absl::StatusOr<PolicyChoice> choice = BuildPolicy(*policy);
    errors.Add(choice.status());
    if (choice.ok() && !choice->file.empty())
      stated.policy_files.push_back(choice->file);
  }
  return stated;
}

}  // namespace

absl::Status CheckMethodFile(const Params& file,
                             const std::vector<Params::Entry>& sampling) {
  Errors errors;
  ReadStated(file, sampling, errors);
  return errors.status();
}

absl::StatusOr<ModelSpec> LeaveRoom(const Params& file,
                                    const MethodContext& context) {
  ModelSpec spec = context.target;
  const Params* const models = file.Find("models");
  if (spec.memory.empty() || models == nullptr) return spec;
  BANYAN_ASSIGN_OR_RETURN(spec.copies, CopiesIn(*models));
  std::size_t bytes = 0;
  ModelShelf shelf(OutlineOf(context.shelf.shared_backend(), &bytes));
  // With a number that only tells it from a drafter of the same file.
  const ModelSpec whole = {
      .directory = spec.directory, .weights = spec.weights, .reserved = 1};
  if (!shelf.Open(whole).ok()) return spec;
  const std::size_t of_target = bytes;
  const absl::Status counted =
      ReadMethodFile(file, {.target = whole,
                            .shelf = shelf,
                            .sampling = context.sampling,
                            .clock = context.clock,
                            .counts_no_copies = true})
          .status();
  if (counted.ok()) spec.reserved = bytes - of_target;
  return spec;
}

absl::StatusOr<LoadedMethod> ReadMethodFile(const Params& file,
                                            const MethodContext& context) {
  Errors errors;
  Stated stated = ReadStated(file, context.sampling, errors);
  const MethodSections& sections = stated.sections;
  const absl::StatusOr<ModelSpec> spec = LeaveRoom(file, context);
  errors.Add(spec.status());
  if (!spec.ok()) return errors.status();
  const absl::StatusOr<LoadedModel> target = context.shelf.OpenTarget(*spec);
  errors.Add(ErrorAt(context.target_place, target.status()));
  if (!target.ok()) return errors.status();
  errors.Add(CheckFits(stated.rule, FindBanned(sections, context.sampling),
                       target->model->vocab_size()));
  LoadedMethod loaded;
  loaded.chat_template = stated.chat_template;
  loaded.policy_files = stated.policy_files;
  loaded.target = *target;
  loaded.bench = std::make_shared<Workbench>(target->model, stated.rule,
                                             context.shelf.assets());
  loaded.bench->SetTokenizer(target->tokenizer);
  const absl::Status added =
      ModelAdder(*target, context, loaded).Add(stated.models);
  errors.Add(added);
  // What a drafter lacks would be no mistake of its own.
  if (!added.ok() || !stated.has_right_keys) return errors.status();
  const auto make = [&](int number) -> absl::StatusOr<NamedDrafter> {
    const Params& section = sections.drafters[static_cast<std::size_t>(number)];
    BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Drafter> drafter,
                            BuildDrafter(section, *loaded.bench));
    return NamedDrafter{DrafterTitle(section), std::move(drafter)};
  };
  if (errors.empty()) errors.Add(AddTrunks(sections, make, stated.method));
  if (!errors.empty()) {  // what is wrong with the other drafters
    for (const Params& section : sections.drafters)
      errors.Add(BuildDrafter(section, *loaded.bench).status());
    return errors.status();
  }
  BANYAN_RETURN_IF_ERROR(CheckModelsAreUsed(stated.models, *loaded.bench));
  for (const Params& section : sections.drafters) {
    BANYAN_ASSIGN_OR_RETURN(loaded.drafted.emplace_back(),
                            DraftedTokensOf(section, *loaded.bench));
  }
  BANYAN_ASSIGN_OR_RETURN(loaded.decoder,
                          MakeDecoder(sections, *loaded.target.model,
                                      std::move(stated.method), context.clock));
  return loaded;
}

std::vector<std::string> NotesOn(const LoadedMethod& method, int longest) {
  std::vector<std::string> notes;
  for (const MethodModel& drafter : method.models) {
    if (!drafter.about.empty())
      notes.push_back(absl::StrCat("the head ", drafter.name, " (",
                                   drafter.directory, "): ", drafter.about));
    if (drafter.model != nullptr && drafter.model->context_limit() < longest)
      notes.push_back(absl::StrCat("the drafting model ", drafter.name, " (",
                                   drafter.directory, ") holds ",
                                   drafter.model->context_limit(),
                                   " tokens: after them it drafts nothing"));
  }
  for (const std::vector<DraftedTokens>& drafter : method.drafted)
    for (const DraftedTokens& drafted : drafter)
      if (!drafted.file.empty())
        notes.push_back(absl::StrCat("the draft vocabulary of ", drafted.model,
                                     ": ", drafted.tokens, " of ",
                                     method.target.model->vocab_size(),
                                     " tokens, ", drafted.file));
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
