// banyan list: every catalogue.
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/base/params.h"
#include "core/checkpoint/families/families.h"
#include "core/json/json_value.h"
#include "core/ops/devices.h"
#include "core/terminal/columns.h"
#include "drafters/catalogue.h"
#include "drafters/row.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/metrics/catalogue.h"
#include "experiments/metrics/metric.h"
#include "experiments/plan/preset_list.h"
#include "experiments/proof/controls.h"
#include "tree/draft_tree.h"
#include "tree/policies/catalogue.h"
#include "tree/tree_policy.h"
#include "tree/verdict.h"
#include "verifiers/catalogue.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

// A line of a catalogue, with what --json says beside name and sentence, and
// what a reader is told of that.
struct Row {
  Row(absl::string_view row_name, absl::string_view row_sentence)
      : name(row_name), sentence(row_sentence) {
    json = {{"name", name}, {"sentence", sentence}};
  }
  void Add(absl::string_view key, const std::vector<std::string>& names,
           absl::string_view title) {
    json[key] = names;
    if (!names.empty())
      facts.push_back(absl::StrCat(title, absl::StrJoin(names, ", ")));
  }
  void Add(absl::string_view key, bool value, absl::string_view fact) {
    json[key] = value;
    if (value) facts.emplace_back(fact);
  }

  void AddKeys(std::vector<KeyRow> rows);

  std::string name;
  std::string sentence;
  JsonValue json;
  std::vector<std::string> facts;
  std::vector<KeyRow> keys;
  std::vector<std::string> examples;  // sections, in YAML
};

void Row::AddKeys(std::vector<KeyRow> rows) {
  keys = std::move(rows);
  json["keys"] = JsonValue::List();
  for (const KeyRow& key : keys) {
    JsonValue entry = {{"name", key.name},
                       {"type", key.type},
                       {"required", key.required},
                       {"sentence", key.sentence}};
    if (!key.fallback.empty()) entry["default"] = key.fallback;
    json["keys"].Add(std::move(entry));
  }
}

// "{nodes: 2}" as a section of a part.
std::string SectionOf(absl::string_view name, absl::string_view example) {
  const bool empty = example == "{}";
  return absl::StrCat("{name: ", name, empty ? "" : ", ", example.substr(1));
}

using Rows = std::vector<Row>;

constexpr int kListColumns = 100;

void AddCounterpart(bool on_device, Row& row) {
  row.json["on_device"] = on_device;
  if (on_device) row.facts.emplace_back("a GPU can run its rounds alone");
}

void AddDrawKinds(const std::vector<DrawKind>& draw_kinds, Row& row) {
  std::vector<std::string> names;
  for (DrawKind draw_kind : draw_kinds) names.emplace_back(Name(draw_kind));
  row.Add("draws", names, "draws: ");
}

absl::StatusOr<Rows> Policies() {
  Rows rows;
  for (const PolicyRow& row : PolicyCatalogue()) {
    // Traits belong to a built policy: the first example stands for the row.
    BANYAN_ASSIGN_OR_RETURN(const Params params,
                            ParseYaml(SectionOf(row.name, row.examples.front()),
                                      std::string(row.name)));
    BANYAN_ASSIGN_OR_RETURN(PolicyChoice choice, BuildPolicy(params));
    AddDrawKinds(choice.policy->traits().draw_kinds,
                 rows.emplace_back(row.name, row.sentence));
    rows.back().Add("fixed_shape", row.plan != nullptr, "fixed shape");
    AddCounterpart(choice.policy->device_shape().has_value(), rows.back());
    rows.back().AddKeys(row.keys);
    for (absl::string_view example : row.examples)
      rows.back().examples.push_back(SectionOf(row.name, example));
  }
  return rows;
}

absl::StatusOr<Rows> Verifiers() {
  Rows rows;
  for (const VerifierRow& row : VerifierCatalogue()) {
    const bool has_defaults =
        std::none_of(row.keys.begin(), row.keys.end(),
                     [](const KeyRow& key) { return key.required; });
    BANYAN_ASSIGN_OR_RETURN(
        const Params params,
        ParseYaml(
            SectionOf(row.name, has_defaults ? "{}" : row.variants.front()),
            std::string(row.name)));
    BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Verifier> verifier,
                            BuildVerifier(params));
    const VerifierTraits traits = verifier->traits();
    Row& entry = rows.emplace_back(row.name, row.sentence);
    AddDrawKinds(traits.draw_kinds, entry);
    entry.json["exactness"] = Name(traits.exactness);
    entry.facts.emplace_back(Name(traits.exactness));
    entry.Add("chains_only", traits.chain, "chains only");
    entry.Add("one_trunk_only", traits.one_list, "one trunk only");
    AddCounterpart(traits.device_judge.has_value(), entry);
    entry.AddKeys(row.keys);
    if (has_defaults) entry.examples.push_back(SectionOf(row.name, "{}"));
    for (absl::string_view variant : row.variants)
      entry.examples.push_back(SectionOf(row.name, variant));
  }
  return rows;
}

Rows Drafters() {
  Rows rows;
  for (const DrafterRow& row : DrafterCatalogue()) {
    AddDrawKinds(row.draw_kinds, rows.emplace_back(row.name, row.sentence));
    AddCounterpart(row.on_device, rows.back());
    rows.back().AddKeys(row.keys);
    for (absl::string_view example : row.examples)
      rows.back().examples.push_back(SectionOf(row.name, example));
  }
  return rows;
}

Rows Families() {
  Rows rows;
  for (const FamilyRow& row : FamilyCatalogue())
    rows.emplace_back(row.name, row.sentence);
  return rows;
}

Rows Devices() {
  Rows rows;
  for (const DeviceRow& row : DeviceTable()) {
    Row& entry = rows.emplace_back(row.name, row.sentence);
    entry.json["takes_threads"] = row.takes_threads;
    entry.Add("instruction_sets", row.instruction_sets(),
              "instruction sets here: ");
  }
  return rows;
}

Rows Metrics() {
  Rows rows;
  for (const MetricRow& row : MetricCatalogue()) {
    Row& entry = rows.emplace_back(row.name, row.sentence);
    entry.json["unit"] = row.unit;
    if (!row.unit.empty()) entry.facts.push_back(absl::StrCat("in ", row.unit));
  }
  return rows;
}

Rows Controls() {
  Rows rows;
  for (const ControlRow& row : ControlCatalogue())
    rows.emplace_back(row.name, row.sentence);
  return rows;
}

absl::StatusOr<Rows> Presets() {
  Rows rows;
  BANYAN_ASSIGN_OR_RETURN(const std::vector<PresetFacts> presets,
                          ListPresets());
  for (const PresetFacts& preset : presets) {
    Row& row = rows.emplace_back(preset.name, preset.sentence);
    row.json["file"] = preset.file;
    row.Add("drafters", preset.drafters, "needs a drafter of the target's: ");
    row.Add("targets", preset.targets, "these ship for ");
    row.Add("folders", preset.others, "needs ");
    if (preset.drafters.empty() && preset.others.empty())
      row.facts.emplace_back("works with every target");
    row.json["measured"] = JsonValue::List();
    for (const MeasuredPreset& measured : preset.measured) {
      row.json["measured"].Add({{"target", measured.target},
                                {"tokens_per_pass", measured.tokens_per_pass},
                                {"speedup", measured.speedup},
                                {"low", measured.low},
                                {"high", measured.high}});
      row.facts.push_back(
          absl::StrFormat("%s: %.2fx [%.2f, %.2f], %.2f tokens per pass",
                          measured.target, measured.speedup, measured.low,
                          measured.high, measured.tokens_per_pass));
    }
    row.examples.push_back(
        absl::StrCat("banyan generate --method ", preset.name, " --compare"));
  }
  return rows;
}

struct Catalogue {
  std::string key;  // of --json
  std::string kind;
  std::string note;
  Rows rows;
  bool has_keys = false;
};

// Whether a key has to be given, or what it is if not.
std::string DefaultOf(const KeyRow& key) {
  if (key.required) return "required";
  return key.fallback.empty() ? "optional" : key.fallback;
}

// `head`, padded to a column of its own, and beside it the text in lines.
void PrintBeside(const std::string& head, int width, absl::string_view text) {
  std::string start = Padded("  " + head, 2 + width);
  for (const std::string& line : Wrapped(text, kListColumns - 2 - width)) {
    std::cout << start << line << "\n";
    start.assign(start.size(), ' ');
  }
}

void PrintPart(const Catalogue& catalogue, const Row& row) {
  std::cout << row.name << " (" << catalogue.kind << ")\n";
  PrintBeside("", 0, row.sentence);
  for (const std::string& fact : row.facts) PrintBeside("", 0, fact);
  int width = 0;
  for (const KeyRow& key : row.keys)
    width = std::max(width, static_cast<int>(key.name.size()) + 2);
  if (!row.keys.empty()) std::cout << "\nkeys\n";
  for (const KeyRow& key : row.keys)
    PrintBeside(
        key.name, width,
        absl::StrCat(key.sentence, " [", key.type, "; ", DefaultOf(key), "]"));
  if (!row.examples.empty()) std::cout << "\nexamples\n";
  for (const std::string& example : row.examples) PrintBeside("", 0, example);
}

// The part's rows in all catalogues; an error if there are none.
absl::Status ListPart(const std::vector<Catalogue>& catalogues,
                      const std::string& name) {
  std::vector<absl::string_view> known;
  bool found = false;
  for (const Catalogue& catalogue : catalogues)
    for (const Row& row : catalogue.rows) {
      known.push_back(row.name);
      if (row.name != name) continue;
      if (found) std::cout << "\n";
      PrintPart(catalogue, row);
      found = true;
    }
  return found ? absl::OkStatus()
               : absl::InvalidArgumentError(UnknownName("part", name, known));
}

void PrintMarkdown(const Catalogue& catalogue) {
  if (!catalogue.has_keys) return;
  std::cout << "| " << catalogue.kind << " | key | type | default | meaning |\n"
            << "| --- | --- | --- | --- | --- |\n";
  for (const Row& row : catalogue.rows) {
    if (row.keys.empty()) std::cout << "| " << row.name << " | none | | | |\n";
    for (const KeyRow& key : row.keys)
      std::cout << "| " << row.name << " | `" << key.name << "` | " << key.type
                << " | " << DefaultOf(key) << " | " << key.sentence << " |\n";
  }
  std::cout << "\n";
}

void Print(const Catalogue& catalogue) {
  std::cout << catalogue.key << catalogue.note << "\n";
  int width = 0;
  for (const Row& row : catalogue.rows)
    width = std::max(width, static_cast<int>(row.name.size()) + 2);
  for (const Row& row : catalogue.rows) {
    PrintBeside(row.name, width, row.sentence);
    if (!row.facts.empty())
      PrintBeside("", width,
                  absl::StrCat("[", absl::StrJoin(row.facts, "; "), "]"));
  }
  std::cout << "\n";
}

struct ListOptions {
  std::string name;
  bool json = false;
  bool markdown = false;
};

absl::Status List(const ListOptions& options) {
  BANYAN_ASSIGN_OR_RETURN(Rows policies, Policies());
  BANYAN_ASSIGN_OR_RETURN(Rows verifiers, Verifiers());
  BANYAN_ASSIGN_OR_RETURN(Rows presets, Presets());
  const std::vector<Catalogue> catalogues = {
      {"drafters", "drafter", "", Drafters(), true},
      {"policies", "policy", "", std::move(policies), true},
      {"verifiers", "verifier", "", std::move(verifiers), true},
      {"model families", "model family", "", Families()},
      {"devices", "device", "", Devices()},
      {"metrics", "metric", "", Metrics()},
      {"controls", "control", " (wrong on purpose)", Controls()},
      {"presets", "preset",
       " (methods of configs/methods; greedy speedups on the processor of "
       "docs/presets.md)",
       std::move(presets)}};
  for (const Catalogue& catalogue : catalogues)
    if (catalogue.key == options.name) {
      Print(catalogue);
      return absl::OkStatus();
    }
  if (!options.name.empty()) return ListPart(catalogues, options.name);
  JsonValue all;
  for (const Catalogue& catalogue : catalogues) {
    if (options.markdown)
      PrintMarkdown(catalogue);
    else if (!options.json)
      Print(catalogue);
    for (Row row : catalogue.rows) {
      row.json["examples"] = row.examples;
      all[catalogue.key].Add(std::move(row.json));
    }
  }
  if (options.json) std::cout << all.Text(2) << "\n";
  return absl::OkStatus();
}

}  // namespace

void AddListCommand(CommandLine& line) {
  Command command = line.Add(
      {.name = "list",
       .sentence =
           "Lists presets, drafters, policies, verifiers and other parts.",
       .more =
           "The other parts are model families, devices, metrics and controls. "
           "With the name of a list, such as presets, it prints that one; with "
           "the name of a part, its keys and examples; with that of a preset, "
           "what it needs and how fast it was.",
       .example = "  banyan list presets\n  banyan list eagle3"});
  const auto options = std::make_shared<ListOptions>();
  command.Option("name", &options->name,
                 "A list, such as presets, or a part, such as ngram.");
  command.Flag("--json", &options->json, "Print JSON, of all parts.");
  command.Flag("--markdown", &options->markdown,
               "Print the tables of keys that docs/formats.md has.");
  command.OnCall([options] { return List(*options); });
}

}  // namespace banyan
