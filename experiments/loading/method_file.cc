#include "experiments/loading/method_file.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <utility>

#include "core/base/messages.h"
#include "core/base/token.h"
#include "core/base/weight_format.h"
#include "core/ops/devices.h"
#include "core/prob/sampling_rule.h"
#include "decode/method.h"
#include "drafters/drafter.h"
#include "drafters/row.h"
#include "experiments/plan/build_method.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/made_for.h"
#include "experiments/plan/opponents.h"
#include "experiments/plan/read_method.h"
#include "tree/policies/catalogue.h"

namespace banyan {
namespace {

// Adds the models of a method file.
class ModelAdder {
 public:
  ModelAdder(const LoadedModel& target, const MethodContext& context,
             LoadedMethod& method)
      : target_(target), context_(context), method_(method) {}

  absl::Status Add(const std::vector<NamedModel>& models) {
    Errors errors;
    for (const NamedModel& model : models)
      errors.Add(model.folder_key.empty() ? AddModel(model) : AddFolder(model));
    return errors.status();
  }

 private:
  // What some drafter opens for itself, once it is asked to.
  absl::Status AddFolder(const NamedModel& named) {
    method_.bench->AddFolder(named.name, named.folder_key, named.place);
    MethodModel folder = {.name = named.name,
                          .directory = named.spec.directory};
    for (const DrafterRow& row : DrafterCatalogue()) {
      if (row.folder_key != named.folder_key || row.heads.describe == nullptr)
        continue;
      // What fails is told where a drafter opens it.
      folder.about =
          row.heads.describe(*target_.model, folder.directory).value_or("");
    }
    method_.models.push_back(std::move(folder));
    return absl::OkStatus();
  }

  absl::Status AddModel(const NamedModel& named) {
    ModelSpec spec = named.spec;
    if (spec.copy) spec.directory = context_.target.directory;
    const absl::StatusOr<LoadedModel> loaded =
        !spec.copy                  ? context_.shelf.Open(spec)
        : context_.counts_no_copies ? target_
                                    : context_.shelf.OpenCopy(spec, target_);
    if (!loaded.ok()) return named.place.Error(loaded.status().message());
    method_.bench->AddModel(named.name, loaded->model, loaded->tokenizer,
                            spec.copy ? Params() : named.place);
    method_.models.push_back({.name = named.name,
                              .directory = spec.directory,
                              .model = loaded->model});
    return absl::OkStatus();
  }

  const LoadedModel& target_;
  const MethodContext& context_;
  LoadedMethod& method_;
};

// The format of the target's copies among the models; empty: there are none.
absl::StatusOr<std::string> CopiesIn(const std::vector<NamedModel>& models) {
  std::string copies;
  for (const NamedModel& model : models) {
    if (!model.spec.copy) continue;
    const std::string& format = model.spec.weights;
    if (!FindFormat(format).has_value() ||
        (!copies.empty() && copies != format))
      return ErrorAt(
          model.section_place,
          absl::StrCat("expected one format of weights, such as q8, for all "
                       "copies of a target whose memory is bounded, found ",
                       format));
    copies = format;
  }
  return copies;
}

// No model stands in the file for nothing.
absl::Status CheckModelsAreUsed(const std::vector<NamedModel>& models,
                                const Workbench& bench) {
  for (const NamedModel& model : models)
    if (!bench.opened(model.name))
      return ErrorAt(model.name_place,
                     absl::StrCat("no drafter uses model '", model.name, "'"));
  return absl::OkStatus();
}

// The method's rule, overridden key by key.
absl::StatusOr<SamplingRule> Override(const MethodSpec& spec,
                                      std::vector<Params::Entry> overrides) {
  BANYAN_ASSIGN_OR_RETURN(SamplingRule rule, ReadSampling(spec));
  if (overrides.empty()) return rule;
  std::vector<Params::Entry> entries = std::move(overrides);
  const std::size_t count = entries.size();
  for (const Params::Entry& entry : spec.sampling.entries()) {
    const bool overridden = std::any_of(
        entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(count),
        [&](const auto& own) { return own.key == entry.key; });
    if (!overridden) entries.push_back(entry);
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
const Params* FindBanned(const MethodSpec& spec,
                         const std::vector<Params::Entry>& overrides) {
  for (const Params::Entry& entry : overrides)
    if (entry.key == "banned") return &entry.value;
  return spec.sampling.Find("banned");
}

// The method with numbers in the place of the costs that its policies include.
absl::StatusOr<MethodSpec> WithNumbers(MethodSpec method,
                                       const MethodContext& context) {
  CostQuestion question = {.target = FolderName(context.target.directory),
                           .weights = StatedWeights(context.target),
                           .memory = context.target.memory};
  if (const auto rule = Override(method, context.sampling); rule.ok())
    question.temperature = rule->options().temperature;
  std::vector<std::string> notes;
  BANYAN_RETURN_IF_ERROR(PutStatedCosts(std::move(question), method, notes));
  for (const std::string& note : notes) context.shelf.warn()(note);
  return method;
}

// What a method says before any model is opened.
struct Stated {
  SamplingRule rule;
  std::vector<std::string> policy_files;
  Method method;  // without trunks
};

Stated ReadStated(const MethodSpec& spec,
                  const std::vector<Params::Entry>& sampling, Errors& errors) {
  Stated stated;
  errors.Add(spec.errors.status());
  absl::StatusOr<SamplingRule> rule = Override(spec, sampling);
  errors.Add(rule.status());
  if (rule.ok()) stated.rule = *std::move(rule);
  if (spec.verifier.kind() != Params::Kind::kNull) {
    absl::StatusOr<Method> method = StartMethod(spec, stated.rule);
    errors.Add(method.status());
    if (method.ok()) stated.method = *std::move(method);
  }
  for (const TrunkSpec& trunk : spec.trunks) {
    const absl::StatusOr<PolicyChoice> choice =
        BuildPolicy(trunk.policy.section());
    errors.Add(choice.status());
    if (choice.ok() && !choice->file.empty())
      stated.policy_files.push_back(choice->file);
  }
  return stated;
}

// With nothing drafted every verifier draws the target's token; this one takes
// any sampling rule.
MethodSpec PlainSpec() {
  MethodSpec plain;
  plain.verifier = Params::Map({{"name", {}, Params::Scalar("match")}});
  return plain;
}

}  // namespace

absl::Status CheckMethod(const MethodSpec& spec,
                         const std::vector<Params::Entry>& sampling) {
  Errors errors;
  ReadStated(spec, sampling, errors);
  return errors.status();
}

absl::StatusOr<ModelSpec> LeaveRoom(const MethodSpec& method,
                                    const MethodContext& context) {
  ModelSpec spec = context.target;
  if (spec.memory.empty() || method.models.empty()) return spec;
  BANYAN_ASSIGN_OR_RETURN(spec.copies, CopiesIn(method.models));
  std::size_t bytes = 0;
  ModelShelf shelf(OutlineOf(context.shelf.shared_backend(), &bytes));
  // With a number that only tells it from a drafter of the same file.
  const ModelSpec whole = {
      .directory = spec.directory, .weights = spec.weights, .reserved = 1};
  if (!shelf.Open(whole).ok()) return spec;
  const std::size_t of_target = bytes;
  const absl::Status counted = OpenMethod(method, {.target = whole,
                                                   .shelf = shelf,
                                                   .sampling = context.sampling,
                                                   .clock = context.clock,
                                                   .counts_no_copies = true})
                                   .status();
  if (counted.ok()) spec.reserved = bytes - of_target;
  return spec;
}

absl::StatusOr<LoadedMethod> OpenMethod(const MethodSpec& read,
                                        const MethodContext& context) {
  Errors errors;
  BANYAN_ASSIGN_OR_RETURN(const MethodSpec method, WithNumbers(read, context));
  Stated stated = ReadStated(method, context.sampling, errors);
  const absl::StatusOr<ModelSpec> spec = LeaveRoom(method, context);
  errors.Add(spec.status());
  if (!spec.ok()) return errors.status();
  const absl::StatusOr<LoadedModel> target = context.shelf.OpenTarget(*spec);
  errors.Add(ErrorAt(context.target_place, target.status()));
  if (!target.ok()) return errors.status();
  errors.Add(CheckFits(stated.rule, FindBanned(method, context.sampling),
                       target->model->vocab_size()));
  LoadedMethod loaded;
  loaded.chat_template = method.chat_template;
  loaded.policy_files = stated.policy_files;
  loaded.target = *target;
  loaded.bench = std::make_shared<Workbench>(target->model, stated.rule,
                                             context.shelf.assets());
  loaded.bench->SetTokenizer(target->tokenizer);
  const absl::Status added =
      ModelAdder(*target, context, loaded).Add(method.models);
  errors.Add(added);
  // What a drafter lacks would be no mistake of its own.
  if (!added.ok() || !method.has_right_keys) return errors.status();
  const auto make = [&](int number) -> absl::StatusOr<NamedDrafter> {
    const Params& section = method.drafters[static_cast<std::size_t>(number)];
    BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Drafter> drafter,
                            BuildDrafter(section, *loaded.bench));
    return NamedDrafter{DrafterTitle(section), std::move(drafter)};
  };
  if (errors.empty()) errors.Add(AddTrunks(method, make, stated.method));
  if (!errors.empty()) {  // what is wrong with the other drafters
    for (const Params& section : method.drafters)
      errors.Add(BuildDrafter(section, *loaded.bench).status());
    return errors.status();
  }
  BANYAN_RETURN_IF_ERROR(CheckModelsAreUsed(method.models, *loaded.bench));
  for (const Params& section : method.drafters) {
    BANYAN_ASSIGN_OR_RETURN(loaded.drafted.emplace_back(),
                            DraftedTokensOf(section, *loaded.bench));
  }
  BANYAN_ASSIGN_OR_RETURN(loaded.decoder,
                          MakeDecoder(method, *loaded.target.model,
                                      std::move(stated.method), context.clock));
  return loaded;
}

absl::StatusOr<LoadedMethod> ReadMethodFile(const Params& file,
                                            const MethodContext& context) {
  MethodSpec method = ReadMethodSpec(file);
  BANYAN_RETURN_IF_ERROR(DrafterFinder().Fit(context.target.directory, method));
  return OpenMethod(method, context);
}

std::vector<std::string> NotesOn(const LoadedMethod& method, int longest) {
  std::vector<std::string> notes;
  for (const MethodModel& drafter : method.models) {
    if (!drafter.about.empty())
      notes.push_back(absl::StrCat(
          "the head ", drafter.name == "head" ? "" : drafter.name + " ", "(",
          std::filesystem::path(drafter.directory).lexically_normal().string(),
          ") is ", drafter.about));
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
  return OpenMethod(PlainSpec(), context);
}

absl::StatusOr<std::unique_ptr<Decoder>> PlainBeside(
    const LoadedMethod& method, std::shared_ptr<const Clock> clock) {
  const MethodSpec spec = PlainSpec();
  BANYAN_ASSIGN_OR_RETURN(Method plain,
                          StartMethod(spec, method.decoder->method().rule));
  return MakeDecoder(spec, *method.target.model, std::move(plain),
                     std::move(clock));
}

}  // namespace banyan
