#include "experiments/runner/prepared_cells.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/clock.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/transformer.h"
#include "decode/method.h"
#include "experiments/experiment/experiment.h"
#include "experiments/experiment/params_edit.h"
#include "experiments/method/method_file.h"
#include "experiments/models/loaded_model.h"
#include "experiments/models/model_shelf.h"
#include "experiments/records/record.pb.h"
#include "experiments/runner/to_record.h"
#include "experiments/workloads/workload.h"

namespace banyan {
namespace {

// Different errors, one a line.
class Errors {
 public:
  void Add(const std::string& text) {
    if (std::find(texts_.begin(), texts_.end(), text) == texts_.end())
      texts_.push_back(text);
  }
  absl::Status status() const {
    if (texts_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrJoin(texts_, "\n  "));
  }

 private:
  std::vector<std::string> texts_;
};

void Describe(const ModelSpec& spec, const Transformer& model,
              records::Model& out) {
  out.set_directory(spec.directory);
  out.set_weights(std::string(Name(model.options().format)));
  out.set_grown_from(std::string(model.grown_from()));
  out.set_streamed_bytes(model.weights().streamed_bytes());
}

void DescribeMethod(const Method& method, records::Cell& out) {
  out.set_verifier(method.verifier_name);
  out.set_lossless(IsLossless(method));
  out.set_temperature(method.rule.options().temperature);
  for (const Trunk& trunk : method.trunks) {
    records::Trunk& to = *out.add_trunks();
    to.set_drafter(trunk.drafter_name);
    to.set_policy(trunk.policy_name);
    to.set_law(ToRecord(trunk.law));
    to.set_carries_state(trunk.drafter->carries_state());
  }
}

void DescribeModels(const Params& section, records::Cell& out) {
  const Params* models = section.Find("models");
  if (models == nullptr) return;
  for (const Params::Entry& entry : models->entries()) {
    records::Model& model = *out.add_models();
    model.set_name(entry.key);
    for (const char* key : {"directory", "heads"})
      if (const Params* place = entry.value.Find(key))
        model.set_directory(place->text());
    if (const Params* weights = entry.value.Find("weights"))
      model.set_weights(weights->text());
  }
}

records::Cell DescribeCell(const ExperimentCell& cell,
                           const PreparedCell& prepared) {
  records::Cell out;
  out.set_name(cell.name);
  out.set_method(cell.method);
  for (const auto& [name, value] : cell.axes) {
    records::Axis& axis = *out.add_axes();
    axis.set_name(name);
    axis.set_value(value);
  }
  out.mutable_target()->set_name(
      std::filesystem::path(cell.target.directory).filename().string());
  Describe(cell.target, *prepared.target.model, *out.mutable_target());
  DescribeModels(cell.section, out);
  DescribeMethod(prepared.method.decoder->method(), out);
  out.set_sampling(ToYaml(Params::Map(cell.sampling)));
  out.set_seed(cell.seed);
  out.set_baseline(static_cast<std::uint32_t>(cell.baseline));
  out.set_max_new_tokens(cell.max_new_tokens);
  return out;
}

absl::StatusOr<PreparedCell> PrepareCell(
    const ExperimentCell& cell, ModelShelf& shelf,
    const std::shared_ptr<const Clock>& clock) {
  const MethodContext context = {.target = cell.target,
                                 .shelf = shelf,
                                 .sampling = cell.sampling,
                                 .clock = clock};
  PreparedCell prepared;
  BANYAN_ASSIGN_OR_RETURN(prepared.target, shelf.Open(cell.target));
  if (cell.method == kPlainMethod) {
    BANYAN_ASSIGN_OR_RETURN(prepared.method, PlainMethod(context));
  } else {
    BANYAN_ASSIGN_OR_RETURN(prepared.method,
                            ReadMethodFile(cell.section, context));
  }
  prepared.method.decoder->KeepFacts();
  prepared.stop.max_new_tokens = cell.max_new_tokens;
  if (!cell.ignore_eos)
    prepared.stop.end_of_text =
        prepared.target.model->architecture().end_of_text;
  for (const Trunk& trunk : prepared.method.decoder->method().trunks)
    prepared.carries_state |= trunk.drafter->carries_state();
  prepared.description = DescribeCell(cell, prepared);
  return prepared;
}

// Tokens and room for one prompt in every cell.
absl::StatusOr<std::vector<TokenId>> PrepareTokens(
    const WorkloadPrompt& prompt, const std::vector<PreparedCell>& cells) {
  std::vector<TokenId> tokens;
  const Transformer* last = nullptr;
  for (const PreparedCell& cell : cells) {
    if (cell.target.model.get() != last) {
      BANYAN_ASSIGN_OR_RETURN(std::vector<TokenId> own,
                              TokensOf(prompt, cell.target));
      if (last != nullptr && own != tokens)
        return absl::InvalidArgumentError(
            "the targets cut the text into different tokens");
      tokens = std::move(own);
      last = cell.target.model.get();
    }
    const int needed =
        static_cast<int>(tokens.size()) + cell.stop.max_new_tokens;
    if (needed > cell.target.model->context_limit())
      return absl::InvalidArgumentError(
          absl::StrCat(tokens.size(), " tokens and ", cell.stop.max_new_tokens,
                       " new ones do not fit the context of ",
                       cell.target.model->context_limit(), " (cell ",
                       cell.description.name(), ")"));
  }
  return tokens;
}

}  // namespace

absl::StatusOr<std::vector<int>> ChoosePrompts(const WorkloadSpec& spec,
                                               const Workload& workload) {
  std::vector<int> fitting;
  for (std::size_t i = 0; i < workload.prompts.size(); ++i) {
    const std::string& kind = workload.prompts[i].kind;
    if (spec.kinds.empty() || std::find(spec.kinds.begin(), spec.kinds.end(),
                                        kind) != spec.kinds.end())
      fitting.push_back(static_cast<int>(i));
  }
  const auto wanted = spec.prompts == 0
                          ? fitting.size()
                          : static_cast<std::size_t>(spec.prompts);
  if (wanted > fitting.size() || fitting.empty())
    return absl::InvalidArgumentError(absl::StrCat(
        workload.path, ": ", fitting.size(),
        " prompts of the kinds wanted, and the experiment wants ", wanted));
  std::vector<int> chosen;
  for (std::size_t i = 0; i < wanted; ++i)
    chosen.push_back(fitting[i * fitting.size() / wanted]);
  return chosen;
}

absl::StatusOr<std::vector<TokenId>> TokensOf(const WorkloadPrompt& prompt,
                                              const LoadedModel& target) {
  if (prompt.text.empty()) return prompt.ids;
  if (target.tokenizer == nullptr)
    return absl::InvalidArgumentError(
        "the target's directory has no tokenizer.json; the workload is text");
  BANYAN_ASSIGN_OR_RETURN(std::vector<TokenId> tokens,
                          target.tokenizer->Encode(prompt.text));
  if (tokens.empty())
    return absl::InvalidArgumentError("the text gives no token");
  return tokens;
}

absl::StatusOr<PreparedRun> PrepareRun(const Experiment& experiment,
                                       const Workload& workload,
                                       ModelShelf& shelf,
                                       std::shared_ptr<const Clock> clock) {
  BANYAN_ASSIGN_OR_RETURN(const std::vector<int> chosen,
                          ChoosePrompts(experiment.workload, workload));
  PreparedRun run;
  Errors errors;
  for (const ExperimentCell& cell : experiment.cells) {
    absl::StatusOr<PreparedCell> prepared = PrepareCell(cell, shelf, clock);
    if (prepared.ok())
      run.cells.push_back(*std::move(prepared));
    else
      errors.Add(std::string(prepared.status().message()));
  }
  for (int number : chosen) {
    const WorkloadPrompt& prompt =
        workload.prompts[static_cast<std::size_t>(number)];
    absl::StatusOr<std::vector<TokenId>> tokens =
        PrepareTokens(prompt, run.cells);
    if (tokens.ok())
      run.prompts.push_back(
          {number, prompt.id, prompt.kind, *std::move(tokens)});
    else
      errors.Add(absl::StrCat(workload.path, ": prompt ", prompt.id, ": ",
                              tokens.status().message()));
  }
  BANYAN_RETURN_IF_ERROR(errors.status());
  return run;
}

}  // namespace banyan
