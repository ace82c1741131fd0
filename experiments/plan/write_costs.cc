#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "experiments/plan/costs.h"

namespace banyan {
namespace {

using Counts = std::vector<std::int64_t>;

// Returns the text as it is written in a list in one line.
std::string Quoted(const std::string& text) {
  const std::string list = ToYaml(Params::List({Params::Scalar(text)}));
  return list.substr(1, list.size() - 3);  // without brackets and the newline
}

std::string Number(double number) { return absl::StrFormat("%.5g", number); }

std::string InLine(const Counts& counts) {
  return absl::StrCat("[", absl::StrJoin(counts, ", "), "]");
}

std::string InLine(const std::vector<std::string>& texts) {
  return absl::StrCat(
      "[",
      absl::StrJoin(texts, ", ",
                    [](std::string* out, const std::string& text) {
                      out->append(Quoted(text));
                    }),
      "]");
}

// "{1: 9.8, 2: 10}", over as many lines as it takes, the later ones indented.
std::string InLines(const std::vector<std::string>& entries, int column,
                    int indent) {
  constexpr std::size_t kColumns = 100;
  std::string out = "{";
  std::size_t line = static_cast<std::size_t>(column) + 1;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const bool last = i + 1 == entries.size();
    if (i > 0 && line + entries[i].size() + 2 > kColumns) {
      out.back() = '\n';  // in the place of the space
      out.append(static_cast<std::size_t>(indent), ' ');
      line = static_cast<std::size_t>(indent);
    }
    absl::StrAppend(&out, entries[i], last ? "}" : ", ");
    line += entries[i].size() + 2;
  }
  return out;
}

// Writes the items of one table: each begins with "  - ".
class TableWriter {
 public:
  TableWriter(const Provenance& common, std::string& out)
      : common_(common), out_(out) {}

  void Begin() { first_ = true; }
  void Line(absl::string_view key, const std::string& value) {
    absl::StrAppend(&out_, first_ ? "  - " : "    ", key, ":",
                    value.front() == '\n' ? "" : " ", value, "\n");
    first_ = false;
  }
  void Text(absl::string_view key, const std::string& value) {
    if (!value.empty()) Line(key, Quoted(value));
  }
  void Setting(const CostSetting& setting) {
    Text("target", setting.target);
    Text("weights", setting.weights);
    Text("memory", setting.memory);
    if (setting.temperature.has_value())
      Line("temperature", absl::StrCat(*setting.temperature));
    if (setting.batch > 1) Line("batch", absl::StrCat(setting.batch));
  }
  // What differs from what stands at the head of the file.
  void From(const Provenance& from) {
    if (from.machine != common_.machine) Text("machine", from.machine);
    if (from.build != common_.build) Text("build", from.build);
    if (from.source != common_.source) Text("source", from.source);
    if (from.date != common_.date) Text("date", from.date);
  }

 private:
  const Provenance& common_;
  std::string& out_;
  bool first_ = true;
};

// Levels that share all but the drafter.
bool AreOneTable(const LevelCosts& a, const LevelCosts& b) {
  return a.setting == b.setting && a.draws == b.draws && a.from == b.from;
}

void Write(const std::vector<PassCosts>& tables, TableWriter& to) {
  for (const PassCosts& passes : tables) {
    to.Begin();
    to.Setting(passes.setting);
    to.Line("context", absl::StrCat(passes.context));
    std::vector<std::string> entries;
    for (const auto& [tokens, ms] : passes.ms)
      entries.push_back(absl::StrCat(tokens, ": ", Number(ms)));
    to.Line("ms", InLines(entries, 8, 9));
    to.From(passes.from);
  }
}

void Write(const std::vector<LevelCosts>& levels, TableWriter& to) {
  std::vector<bool> written(levels.size());
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (written[i]) continue;
    std::map<std::string, double> ms;
    for (std::size_t j = i; j < levels.size(); ++j)
      if (!written[j] && AreOneTable(levels[i], levels[j]))
        written[j] = ms.emplace(levels[j].drafter, levels[j].ms).second;
    to.Begin();
    to.Setting(levels[i].setting);
    to.Text("draws", levels[i].draws);
    std::vector<std::string> entries;
    for (const auto& [drafter, one] : ms)
      entries.push_back(absl::StrCat(Quoted(drafter), ": ", Number(one)));
    to.Line("ms", InLines(entries, 8, 9));
    to.From(levels[i].from);
  }
}

void Write(const std::vector<AcceptanceTable>& tables, TableWriter& to) {
  for (const AcceptanceTable& table : tables) {
    to.Begin();
    to.Setting(table.setting);
    std::vector<std::string> labels;
    std::vector<std::string> kinds;
    std::vector<std::string> draws;
    for (const CountedDrafter& drafter : table.drafters) {
      labels.push_back(drafter.label);
      kinds.push_back(drafter.kind);
      draws.push_back(drafter.draws);
    }
    to.Line("drafters", InLine(labels));
    if (kinds != labels) to.Line("kinds", InLine(kinds));
    to.Line("draws", InLine(draws));
    to.Line("rounds", absl::StrCat(table.rounds));
    std::string rows;
    for (const CandidateCounts& one : table.counts) {
      absl::StrAppend(&rows, "\n      - {");
      if (table.drafters.size() > 1)
        absl::StrAppend(&rows, "drafter: ", one.drafter, ", ");
      absl::StrAppend(&rows, "depth: ", one.depth, ", ");
      if (!one.also.empty())
        absl::StrAppend(&rows, "also: [", absl::StrJoin(one.also, ", "), "], ");
      absl::StrAppend(&rows, "judged: ", InLine(one.judged),
                      ", accepted: ", InLine(one.accepted), "}");
    }
    to.Line("counts", rows);
    to.From(table.from);
  }
}

void Write(const std::vector<HeadTable>& tables, TableWriter& to) {
  for (const HeadTable& table : tables) {
    to.Begin();
    to.Setting(table.setting);
    to.Text("drafter", table.drafter.label);
    if (table.drafter.kind != table.drafter.label)
      to.Text("kind", table.drafter.kind);
    to.Line("positions", InLine(table.positions));
    std::string rows;
    for (const Counts& hits : table.hits)
      absl::StrAppend(&rows, "\n      - ", InLine(hits));
    to.Line("hits", rows);
    to.From(table.from);
  }
}

void Write(const std::vector<ChainLength>& chains, TableWriter& to) {
  for (const ChainLength& chain : chains) {
    to.Begin();
    to.Text("target", chain.target);
    to.Text("drafter", chain.drafter);
    to.Line("temperature", absl::StrCat(chain.temperature));
    to.Line("length", absl::StrCat(chain.length));
    to.Line("speed", absl::StrFormat("%.3f", chain.speed));
    to.From(chain.from);
  }
}

}  // namespace

std::string ToYaml(const Costs& costs, const Provenance& from) {
  std::string out;
  const auto head = [&](absl::string_view key, const std::string& value) {
    if (!value.empty()) absl::StrAppend(&out, key, ": ", Quoted(value), "\n");
  };
  head("machine", from.machine);
  head("build", from.build);
  head("source", from.source);
  head("date", from.date);
  const auto write = [&](absl::string_view name, const auto& tables) {
    if (tables.empty()) return;
    absl::StrAppend(&out, name, ":\n");
    TableWriter to(from, out);
    Write(tables, to);
  };
  write("passes", costs.passes);
  write("levels", costs.levels);
  write("acceptance", costs.acceptance);
  write("heads", costs.heads);
  write("chains", costs.chains);
  return out;
}

}  // namespace banyan
