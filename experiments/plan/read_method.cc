#include "experiments/plan/read_method.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/tokenizer/chat_template.h"
#include "decode/method.h"
#include "drafters/catalogue.h"

namespace banyan {
namespace {

constexpr char kTarget[] = "target";  // as a directory: the target's own

absl::StatusOr<TrunkSpec> ReadTrunk(const MethodKeys& keys, const Params& item,
                                    std::size_t number) {
  ParamsReader in(item, absl::StrCat("trunk ", number));
  TrunkSpec trunk;
  in.Required("drafter", trunk.drafter);
  const std::size_t count = keys.method.drafters.size();
  in.Ensure(
      trunk.drafter >= 0 && static_cast<std::size_t>(trunk.drafter) < count,
      "drafter",
      absl::StrCat("must number one of the ", count, " drafters, from 0"));
  const Params* own = in.Take("policy");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  trunk.has_own_policy = own != nullptr;
  if (own == nullptr) own = keys.policy;
  if (own == nullptr)
    return item.Error("trunk: missing key 'policy', and the file has none");
  trunk.policy = PolicySpec(*own);
  if (trunk.has_own_policy && trunk.policy.of_method() &&
      keys.trunks->items().size() > 1)
    return own->Error(absl::StrCat(
        "policy ", trunk.policy.row()->name, " shapes the tree of all ",
        "drafters: state it as the method's `policy`"));
  return trunk;
}

absl::Status CheckEveryDrafterIsUsed(const MethodKeys& keys,
                                     const std::vector<TrunkSpec>& trunks) {
  const std::vector<Params>& drafters = keys.method.drafters;
  for (std::size_t i = 0; i < drafters.size(); ++i) {
    const bool used =
        std::any_of(trunks.begin(), trunks.end(), [&](const TrunkSpec& trunk) {
          return static_cast<std::size_t>(trunk.drafter) == i;
        });
    if (!used)
      return drafters[i].Error(
          absl::StrCat(keys.what, ": no trunk uses drafter ", i, " (from 0)"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TrunkSpec>> ListedTrunks(const MethodKeys& keys) {
  if (keys.trunks->kind() != Params::Kind::kList)
    return keys.trunks->Error("trunks: expected a list");
  std::vector<TrunkSpec> trunks;
  for (const Params& item : keys.trunks->items()) {
    BANYAN_ASSIGN_OR_RETURN(trunks.emplace_back(),
                            ReadTrunk(keys, item, trunks.size()));
  }
  BANYAN_RETURN_IF_ERROR(CheckEveryDrafterIsUsed(keys, trunks));
  const bool policy_is_used =
      std::any_of(trunks.begin(), trunks.end(),
                  [](const TrunkSpec& trunk) { return !trunk.has_own_policy; });
  if (keys.policy != nullptr && !policy_is_used)
    return keys.policy->Error(absl::StrCat(
        keys.what, ": every trunk has a policy of its own beside this one"));
  return trunks;
}

absl::StatusOr<std::vector<TrunkSpec>> ReadTrunks(const MethodKeys& keys) {
  if (keys.trunks != nullptr) return ListedTrunks(keys);
  const std::size_t count = keys.method.drafters.size();
  if (keys.policy == nullptr && count > 0)
    return keys.file->Error(
        absl::StrCat(keys.what, ": missing key 'policy' (or 'trunks')"));
  if (keys.policy != nullptr && count == 0)
    return keys.policy->Error(
        absl::StrCat(keys.what, ": a policy needs 'drafters'"));
  std::vector<TrunkSpec> trunks;
  for (std::size_t i = 0; i < count; ++i)
    trunks.push_back(
        {.drafter = static_cast<int>(i), .policy = PolicySpec(*keys.policy)});
  return trunks;
}

// The number of nodes of trunk `number`, of `count`.
absl::StatusOr<Params> ShareOf(const Params& nodes, std::size_t number,
                               std::size_t count) {
  if (count == 1) return nodes;  // which may be `measured`
  int all = 0;
  BANYAN_RETURN_IF_ERROR(Convert(nodes, all));
  if (all < 0) return nodes.Error("nodes: must not be negative");
  const auto total = static_cast<std::size_t>(all);
  const std::size_t share = total / count + (number < total % count ? 1 : 0);
  return Params::Scalar(absl::StrCat(std::max<std::size_t>(share, 1)),
                        nodes.origin());
}

absl::Status ShareNodes(const Params& nodes, std::vector<TrunkSpec>& trunks) {
  if (trunks.empty())
    return nodes.Error("nodes: the method has no drafter to draft them");
  for (std::size_t i = 0; i < trunks.size(); ++i) {
    BANYAN_ASSIGN_OR_RETURN(const Params share,
                            trunks[i].policy.of_method()
                                ? nodes
                                : ShareOf(nodes, i, trunks.size()));
    BANYAN_RETURN_IF_ERROR(trunks[i].policy.SetNodes(share));
  }
  return absl::OkStatus();
}

// The models that can be read.
absl::Status ReadModels(const Params& models, MethodSpec& method) {
  if (models.kind() == Params::Kind::kNull) return absl::OkStatus();
  if (models.kind() != Params::Kind::kMap)
    return models.Expected("a map from names to models");
  Errors errors;
  for (const Params::Entry& entry : models.entries()) {
    absl::StatusOr<NamedModel> model = ReadNamedModel(entry);
    errors.Add(model.status());
    if (model.ok()) method.models.push_back(*std::move(model));
  }
  return errors.status();
}

}  // namespace

void TakeRounds(ParamsReader& in, std::optional<RoundsOn>& rounds) {
  std::string name;
  if (!in.Optional("rounds", name)) return;
  rounds = RoundsNamed(name);
  in.Ensure(rounds.has_value(), "rounds", "must be auto, host or device");
}

MethodKeys TakeMethodKeys(ParamsReader& in) {
  MethodKeys keys = {.file = &in.section(), .what = in.what()};
  MethodSpec& method = keys.method;
  method.place = in.section().origin();
  in.Optional("drafters", method.drafters);
  keys.policy = in.Take("policy");
  keys.trunks = in.Take("trunks");
  // In the place of a preset's: the method's policy shapes its tree.
  if (keys.trunks != nullptr && keys.trunks->kind() == Params::Kind::kNull)
    keys.trunks = nullptr;
  keys.nodes = in.Take("nodes");
  in.Required("verifier", method.verifier);
  in.Optional("sampling", method.sampling);
  std::string scoring(Name(method.scoring));
  in.Optional("score", scoring);
  if (scoring == Name(Scoring::kUnmerged)) method.scoring = Scoring::kUnmerged;
  in.Ensure(scoring == Name(method.scoring), "score",
            "must be merged or unmerged");
  TakeRounds(in, method.rounds);
  return keys;
}

absl::StatusOr<MethodSpec> ReadMethod(const MethodKeys& keys) {
  MethodSpec method = keys.method;
  BANYAN_ASSIGN_OR_RETURN(method.trunks, ReadTrunks(keys));
  if (keys.nodes != nullptr)
    BANYAN_RETURN_IF_ERROR(ShareNodes(*keys.nodes, method.trunks));
  return method;
}

MethodSpec ReadMethodSpec(const Params& file) {
  ParamsReader in(file, "method file");
  const Params* models = in.Take("models");
  std::string chat_template;
  if (in.Optional("chat_template", chat_template)) {
    const auto known = ChatTemplate::Named(chat_template);
    if (!known.ok())
      in.Note(file.Find("chat_template")->Error(known.status().message()));
  }
  const MethodKeys keys = TakeMethodKeys(in);
  const absl::Status finished = in.Finish();
  MethodSpec method = keys.method;
  Errors errors;
  errors.Add(finished);
  if (finished.ok()) {
    absl::StatusOr<MethodSpec> read = ReadMethod(keys);
    errors.Add(read.status());
    if (read.ok()) method = *std::move(read);
  }
  if (models != nullptr) {
    const absl::Status status = ReadModels(*models, method);
    errors.Add(status);
    method.has_right_keys = status.ok();
  }
  method.has_right_keys &= finished.ok();
  method.chat_template = chat_template;
  method.errors = errors;
  return method;
}

absl::StatusOr<NamedModel> ReadNamedModel(const Params::Entry& entry) {
  NamedModel model = {.name = entry.key,
                      .name_place = entry.key_origin,
                      .section_place = entry.value.origin()};
  ParamsReader in(entry.value, absl::StrCat("model ", entry.key));
  for (const absl::string_view key : DrafterFolderKeys()) {
    const Params* place = in.Take(key);
    if (place == nullptr) continue;
    BANYAN_RETURN_IF_ERROR(in.Finish());
    BANYAN_RETURN_IF_ERROR(Convert(*place, model.spec.directory));
    model.spec.directory = Beside(*place, model.spec.directory);
    model.folder_key = std::string(key);
    model.place = *place;
    return model;
  }
  model.spec = TakeModelSpec(in);
  BANYAN_RETURN_IF_ERROR(in.Finish());
  model.place = *entry.value.Find("directory");
  if (model.place.text() == kTarget) {
    model.spec.directory.clear();
    model.spec.copy = true;
  }
  return model;
}

}  // namespace banyan
