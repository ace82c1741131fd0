#include "experiments/run/cell_description.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "configs/loader/writer.h"
#include "core/base/fnv1a.h"
#include "core/base/params.h"
#include "core/base/read_file.h"
#include "core/base/weight_format.h"
#include "core/json/json_at.h"
#include "core/model/model.h"
#include "decode/method.h"
#include "decode/proofs.h"
#include "drafters/assets.h"
#include "drafters/catalogue.h"
#include "experiments/models/method_file.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/model_spec.h"
#include "experiments/plan/one_drafter.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/fingerprint.h"
#include "experiments/run/prepared_cells.h"
#include "experiments/run/to_record.h"
#include "tree/tree_policy.h"

namespace banyan {
namespace {

constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;

struct Files {
  FileStates states;  // before they were read
  std::vector<records::File> files;
};

// Read once for all cells.
std::shared_ptr<const Files> FilesOf(const std::string& path, Assets& assets) {
  return *assets.Open<Files>(
      {.path = path},
      [&path]() -> absl::StatusOr<std::shared_ptr<const Files>> {
        FileStates states = StatesAt(path);
        return std::make_shared<const Files>(
            Files{std::move(states), FilesAt(path)});
      });
}

std::string FingerprintOf(const std::string& directory, Assets& assets) {
  return WeightsFingerprint(FilesOf(directory, assets)->files);
}

// What the cell opened and its policies read, each file once.
void DescribeFiles(Assets& assets, PreparedCell& prepared) {
  std::vector<std::string> paths = assets.TakePaths();
  paths.insert(paths.end(), prepared.method.policy_files.begin(),
               prepared.method.policy_files.end());
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    const std::shared_ptr<const Files> files = FilesOf(path, assets);
    prepared.files[path] = files->states;
    for (const records::File& file : files->files)
      if (seen.insert(file.path()).second)
        *prepared.description.add_files() = file;
  }
}

void Describe(const ModelSpec& spec, const Model& model, Assets& assets,
              records::Model& out) {
  const ModelFacts facts = model.facts();
  out.set_directory(spec.directory);
  out.set_weights(std::string(Name(facts.format)));
  out.set_grown_from(std::string(model.grown_from()));
  out.set_source_format(facts.source_format);
  out.set_streamed_bytes(facts.streamed_bytes);
  out.set_disk_bytes(facts.disk_bytes);
  out.set_fingerprint(FingerprintOf(spec.directory, assets));
}

void Describe(const std::vector<DraftedTokens>& drafted, records::Trunk& out) {
  for (const DraftedTokens& one : drafted) {
    records::DraftedTokens& to = *out.add_drafted();
    to.set_model(one.model);
    to.set_file(one.file);
    to.set_tokens(static_cast<std::uint32_t>(one.tokens));
  }
}

void DescribeMethod(const ExperimentCell& cell, const LoadedMethod& loaded,
                    records::Cell& out) {
  const Method& method = loaded.decoder->method();
  out.set_verifier(method.verifier_name);
  out.set_lossless(IsLossless(method));
  if (IsLossless(method) && !method.trunks.empty())
    out.set_evidence(IsProven(method) ? records::PROVEN : records::CLAIMED);
  out.set_unmerged(method.scoring == Scoring::kUnmerged);
  out.set_temperature(method.rule.options().temperature);
  const std::vector<OneDrafter> drafters =
      EachAlone(cell.spec, FolderName(cell.target.directory));
  for (std::size_t i = 0; i < method.trunks.size(); ++i) {
    const Trunk& trunk = method.trunks[i];
    const auto drafter = static_cast<std::size_t>(cell.spec.trunks[i].drafter);
    const PolicyTraits traits = trunk.policy->traits();
    records::Trunk& to = *out.add_trunks();
    to.set_drafter(trunk.drafter_name);
    to.set_policy(trunk.policy_name);
    to.set_chain(traits.chain);
    to.set_adapts(traits.adapts);
    to.set_draws(ToRecord(trunk.draw_kind));
    to.set_carries_state(trunk.drafter->carried() != nullptr);
    to.set_identity(
        absl::StrFormat("%016x", Fnv1a(drafters[drafter].identity)));
    to.set_label(drafters[drafter].label);
    Describe(loaded.drafted[drafter], to);
  }
}

// What `banyan grow` wrote of heads; their drafter has read the file before.
void DescribeGrowth(const std::string& directory, records::Model& out) {
  const std::string path = absl::StrCat(directory, "/config.json");
  const auto text = ReadFile(path, kMaxConfigBytes);
  if (!text.ok()) return;
  const auto config = JsonTree::Parse(*text, path);
  if (!config.ok()) return;
  const JsonAt origin = config->root().At("grown_from");
  out.set_grown_from(origin.At("name").String().value_or(""));
  out.set_old_cost(!origin.At("like_target").Bool().value_or(true));
}

void DescribeModels(const LoadedMethod& method, Assets& assets,
                    records::Cell& out) {
  for (const MethodModel& model : method.models) {
    records::Model& to = *out.add_models();
    to.set_name(model.name);
    if (model.model != nullptr) {
      Describe({model.directory, ""}, *model.model, assets, to);
    } else {
      to.set_directory(model.directory);
      to.set_fingerprint(FingerprintOf(model.directory, assets));
      DescribeGrowth(model.directory, to);
    }
  }
}

records::Opponent::Role ToRecord(OpponentRole role) {
  switch (role) {
    case OpponentRole::kSameNodes:
      return records::Opponent::SAME_NODES;
    case OpponentRole::kFastest:
      return records::Opponent::FASTEST;
    case OpponentRole::kNeighbour:
      return records::Opponent::NEIGHBOUR;
    case OpponentRole::kReference:
      break;
  }
  return records::Opponent::REFERENCE;
}

}  // namespace

void DescribePlace(const ExperimentCell& cell, records::Cell& out) {
  out.set_name(cell.name);
  out.set_method(cell.method);
  out.clear_axes();
  for (const auto& [name, value] : cell.axes) {
    records::Axis& axis = *out.add_axes();
    axis.set_name(name);
    axis.set_value(value);
  }
  out.set_seed(cell.seed);
  out.set_baseline(static_cast<std::uint32_t>(cell.baseline));
  out.clear_opponents();
  for (const Opponent& opponent : cell.opponents) {
    records::Opponent& to = *out.add_opponents();
    to.set_cell(static_cast<std::uint32_t>(opponent.cell));
    to.set_role(ToRecord(opponent.role));
  }
}

void DescribeCell(const ExperimentCell& cell, Assets& assets,
                  PreparedCell& prepared) {
  records::Cell& out = prepared.description;
  DescribeFiles(assets, prepared);
  DescribePlace(cell, out);
  out.mutable_target()->set_name(FolderName(cell.target.directory));
  Describe(cell.target, *prepared.target.model, assets, *out.mutable_target());
  DescribeModels(prepared.method, assets, out);
  DescribeMethod(cell, prepared.method, out);
  out.set_sampling(ToYaml(Params::Map(cell.sampling)));
  out.set_max_new_tokens(cell.max_new_tokens);
  if (prepared.chat.has_value())
    out.set_chat(std::string(prepared.chat->name()));
  if (cell.batch > 1) out.set_batch(static_cast<std::uint32_t>(cell.batch));
}

}  // namespace banyan
