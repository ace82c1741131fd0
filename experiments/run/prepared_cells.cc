#include "experiments/run/prepared_cells.h"

#include <cstdint>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/bytes.h"
#include "core/base/common.h"
#include "core/base/input_files.h"
#include "core/base/params.h"
#include "core/base/weight_format.h"
#include "core/json/json_value.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "decode/proofs.h"
#include "decode/target_rows.h"
#include "drafters/catalogue.h"
#include "experiments/plan/method_spec.h"
#include "experiments/plan/opponents.h"
#include "experiments/plan/resolve.h"
#include "tree/draft_tree.h"
#include "tree/tree_policy.h"

namespace banyan {

namespace {

void AddList(const DrawList& list, int node, double overlap,
             records::Round& out) {
  records::DrawList& to = *out.add_lists();
  to.set_node(node);
  to.set_trunk(list.trunk);
  to.set_draws(ToRecord(list.draw_kind));
  to.set_shared(list.shared_draws);
  to.set_overlap(overlap);
  for (const Draw& draw : list.draws) {
    to.add_tokens(static_cast<std::uint32_t>(draw.token));
    to.add_times(static_cast<std::uint32_t>(draw.time));
    to.add_children(draw.child);
    to.add_q(draw.dropped() ? 0 : draw.proposal.Mass(draw.token));
  }
}

void AddTree(const DraftTree& tree, const TargetFacts& facts,
             records::Round& out) {
  for (int i = 0; i < tree.size(); ++i) {
    const Node& node = tree.node(i);
    const auto at = static_cast<std::size_t>(i);
    out.add_tokens(static_cast<std::uint32_t>(node.token));
    out.add_parents(node.parent);
    out.add_target_probability(facts.probability[at]);
    for (std::size_t list = 0; list < node.lists.size(); ++list)
      AddList(node.lists[list], i, facts.overlap[at][list], out);
    if (!node.probe()) continue;
    records::Probe& probe = *out.add_probes();
    probe.set_node(i);
    probe.set_trunk(node.probe_of);
    probe.set_vector(node.vector != nullptr);
  }
}

}  // namespace

records::DrawKind ToRecord(DrawKind draw_kind) {
  switch (draw_kind) {
    case DrawKind::kIndependent:
      return records::INDEPENDENT;
    case DrawKind::kWithoutReplacement:
      return records::WITHOUT_REPLACEMENT;
    case DrawKind::kDeterministic:
      return records::DETERMINISTIC;
  }
  return records::INDEPENDENT;
}

records::Stop ToRecord(StopReason reason) {
  switch (reason) {
    case StopReason::kNone:
      return records::NONE;
    case StopReason::kEndOfText:
      return records::END_OF_TEXT;
    case StopReason::kLength:
      return records::LENGTH;
    case StopReason::kContext:
      return records::CONTEXT;
  }
  return records::NONE;
}

void AddRound(const RoundRecord& round, records::PromptRecord& record) {
  records::Round& out = *record.add_rounds();
  AddTree(round.tree, round.facts, out);
  for (int node : round.verdict.path) out.add_path(node);
  out.set_next(static_cast<std::uint32_t>(round.verdict.next));
  out.set_emitted(static_cast<std::uint32_t>(round.emitted.size()));
  out.set_stop(ToRecord(round.stopped));
  for (std::int64_t ns : round.times.draft_ns) out.add_draft_ns(ns);
  out.set_derive_ns(round.times.derive_ns);
  out.set_target_ns(round.times.target_ns);
  out.set_verify_ns(round.times.verify_ns);
  out.set_device_ns(round.times.device_ns);
  out.set_commit_ns(round.times.commit_ns);
  if (round.host_cause != HostCause::kDefault)
    out.set_host_cause(static_cast<records::HostCause>(round.host_cause));
  if (round.sequences > 1)
    out.set_sequences(static_cast<std::uint32_t>(round.sequences));
  if (round.sequences > 1 || round.pass_tokens > round.tree.size())
    out.set_pass_tokens(static_cast<std::uint32_t>(round.pass_tokens));
  for (std::size_t i = 0; i < round.emitted.size(); ++i) {
    record.add_tokens(static_cast<std::uint32_t>(round.emitted[i]));
    record.add_log_probability(round.facts.log_probability[i]);
    record.add_logit_gap(round.facts.logit_gap[i]);
  }
}

namespace {

// How the target writes chats; an error if it has no tokenizer, or nothing to
// know the template by.
absl::StatusOr<std::optional<ChatTemplate>> ReadChat(
    const WorkloadSpec& workload, const LoadedModel& target) {
  const std::string& name = workload.chat;
  if (name.empty()) return std::nullopt;
  const Origin& place = workload.section.PlaceOf("chat");
  if (target.tokenizer == nullptr)
    return ErrorAt(
        place, absl::StrCat("the target has no tokenizer to write chats with (",
                            target.no_tokenizer, ")"));
  absl::StatusOr<ChatTemplate> chat = ChatTemplate::ForModel(
      *target.tokenizer, name == kOwnTemplate ? "" : name);
  if (!chat.ok())
    return ErrorAt(place,
                   absl::StrCat("workload.chat: ", chat.status().message()));
  return *std::move(chat);
}

// A cell without a description.
absl::StatusOr<PreparedCell> OpenModels(
    const ExperimentCell& cell, const WorkloadSpec& workload, ModelShelf& shelf,
    const std::shared_ptr<const Clock>& clock) {
  const MethodContext context = {.target = cell.target,
                                 .shelf = shelf,
                                 .sampling = cell.sampling,
                                 .clock = clock,
                                 .target_place = cell.target_place};
  PreparedCell prepared;
  shelf.assets()->TakePaths();  // of other cells
  if (cell.method == kPlainMethod) {
    BANYAN_ASSIGN_OR_RETURN(prepared.method, PlainMethod(context));
  } else {
    BANYAN_ASSIGN_OR_RETURN(prepared.method, OpenMethod(cell.spec, context));
  }
  prepared.target = prepared.method.target;
  BANYAN_ASSIGN_OR_RETURN(prepared.chat, ReadChat(workload, prepared.target));
  prepared.method.decoder->KeepFacts();
  prepared.method.decoder->method().rounds =
      cell.spec.rounds.value_or(RoundsOn::kAuto);
  prepared.stop.max_new_tokens = cell.max_new_tokens;
  if (!cell.ignore_eos)
    prepared.stop.end_of_text = prepared.target.model->facts().end_of_text;
  prepared.carries_state = prepared.method.decoder->carries_state();
  prepared.batch = cell.batch;
  prepared.memory = cell.target.memory;
  return prepared;
}

}  // namespace

absl::StatusOr<PreparedCell> PrepareCell(
    const ExperimentCell& cell, const WorkloadSpec& workload, ModelShelf& shelf,
    const std::shared_ptr<const Clock>& clock) {
  BANYAN_ASSIGN_OR_RETURN(PreparedCell prepared,
                          OpenModels(cell, workload, shelf, clock));
  DescribeCell(cell, *shelf.assets(), prepared);
  return prepared;
}

PreparedCell WithSeedOf(const ExperimentCell& cell,
                        const PreparedCell& prepared) {
  PreparedCell other = prepared;
  DescribePlace(cell, other.description);
  return other;
}

absl::StatusOr<PreparedCell> PrepareInTurn(
    const ExperimentCell& cell, const WorkloadSpec& workload,
    const ModelShelf& shelf, ModelShelf& outline,
    const std::shared_ptr<const Clock>& clock) {
  const std::shared_ptr<Backend> backend = shelf.shared_backend();
  BANYAN_ASSIGN_OR_RETURN(PreparedCell prepared,
                          PrepareCell(cell, workload, outline, clock));
  prepared.open = [cell, workload, backend, clock] {
    ModelShelf own(backend);
    return OpenModels(cell, workload, own, clock);
  };
  return prepared;
}

absl::StatusOr<OpenCell> OpenCell::Of(PreparedCell& cell) {
  OpenCell open;
  open.prepared_ = &cell;
  if (cell.open) {
    absl::StatusOr<PreparedCell> opened = cell.open();
    // After opening, so that a file replaced while it was opened is found, and
    // before any other error, whose cause such a file may be.
    for (const auto& [path, states] : cell.files)
      BANYAN_RETURN_IF_ERROR(CheckUnchanged(path, states));
    BANYAN_RETURN_IF_ERROR(opened.status());
    opened->description = cell.description;
    open.opened_ = std::make_unique<PreparedCell>(*std::move(opened));
  }
  return open;
}

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

// What the cell opened, its policies read, and its parts in Python are written
// in, each file once.
void DescribeFiles(const MethodSpec& spec, Assets& assets,
                   PreparedCell& prepared) {
  std::vector<std::string> paths = assets.TakePaths();
  const auto add = [&paths](const std::vector<std::string>& more) {
    paths.insert(paths.end(), more.begin(), more.end());
  };
  add(prepared.method.policy_files);
  add(PythonFiles(spec.verifier));
  for (const Params& drafter : spec.drafters) add(PythonFiles(drafter));
  for (const TrunkSpec& trunk : spec.trunks)
    add(PythonFiles(trunk.policy.section()));
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
  DescribeFiles(cell.spec, assets, prepared);
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
