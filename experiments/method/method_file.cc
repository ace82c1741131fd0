#include "experiments/method/method_file.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/model/tokenizer/chat_template.h"
#include "core/prob/sampling_rule.h"
#include "decode/method.h"
#include "drafters/catalogue.h"
#include "drafters/drafter.h"
#include "drafters/workbench.h"
#include "experiments/method/method_sections.h"
#include "experiments/models/loaded_model.h"

namespace banyan {
namespace {

constexpr char kTarget[] = "target";  // as a directory: the target's own

absl::Status AddHeads(const Params::Entry& entry, const Params& place,
                      const LoadedModel& target, const MethodContext& context,
                      Workbench& bench) {
  std::string directory;
  BANYAN_RETURN_IF_ERROR(Convert(place, directory));
  auto heads = context.shelf.OpenHeads(Beside(place, directory), target);
  if (!heads.ok()) return place.Error(heads.status().message());
  bench.AddHeads(entry.key, *std::move(heads));
  return absl::OkStatus();
}

absl::Status AddModel(const Params::Entry& entry, const LoadedModel& target,
                      const MethodContext& context, Workbench& bench) {
  ParamsReader in(entry.value, absl::StrCat("model ", entry.key));
  if (const Params* heads = in.Take("heads")) {
    BANYAN_RETURN_IF_ERROR(in.Finish());
    return AddHeads(entry, *heads, target, context, bench);
  }
  ModelSpec spec = TakeModelSpec(in);
  BANYAN_RETURN_IF_ERROR(in.Finish());
  const Params& place = *entry.value.Find("directory");
  if (place.text() == kTarget) spec.directory = context.target.directory;
  const absl::StatusOr<LoadedModel> loaded = context.shelf.Open(spec);
  if (!loaded.ok()) return place.Error(loaded.status().message());
  bench.AddModel(entry.key, loaded->model);
  return absl::OkStatus();
}

absl::Status AddModels(const Params* models, const LoadedModel& target,
                       const MethodContext& context, Workbench& bench) {
  if (models == nullptr) return absl::OkStatus();
  if (models->kind() != Params::Kind::kMap)
    return models->Expected("a map from names to models");
  for (const Params::Entry& entry : models->entries())
    BANYAN_RETURN_IF_ERROR(AddModel(entry, target, context, bench));
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
  loaded.bench = std::make_unique<Workbench>(*loaded.target, rule);
  BANYAN_RETURN_IF_ERROR(AddModels(models, target, context, *loaded.bench));
  const auto make = [&](int number) -> absl::StatusOr<NamedDrafter> {
    const Params& section = sections.drafters[static_cast<std::size_t>(number)];
    BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Drafter> drafter,
                            BuildDrafter(section, *loaded.bench));
    return NamedDrafter{section.Find("name")->text(), std::move(drafter)};
  };
  BANYAN_RETURN_IF_ERROR(AddTrunks(sections, make, method));
  BANYAN_ASSIGN_OR_RETURN(
      loaded.decoder,
      MakeDecoder(sections, *loaded.target, std::move(method), context.clock));
  return loaded;
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
