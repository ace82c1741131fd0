#include "experiments/report/answer/answer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "experiments/metrics/bootstrap.h"
#include "experiments/metrics/catalogue.h"
#include "experiments/metrics/cell_counts.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/cell_names.h"
#include "experiments/records/claims.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "experiments/report/answer/answer_sentences.h"
#include "experiments/report/answer/speed_verdict.h"

namespace banyan {
namespace {

absl::string_view LastWord(absl::string_view axis) {
  return axis.substr(axis.rfind('.') + 1);
}

// "nodes" of "methods.chain.policy.nodes", unless another axis of the cell ends
// alike.
absl::string_view ShortAxis(absl::string_view axis, const records::Cell& cell) {
  const auto alike = std::count_if(
      cell.axes().begin(), cell.axes().end(), [&](const records::Axis& other) {
        return LastWord(other.name()) == LastWord(axis);
      });
  return alike > 1 ? axis : LastWord(axis);
}

std::optional<Estimate> Only(const KeyedEstimates& estimates) {
  const auto found = estimates.find("");
  if (found == estimates.end()) return std::nullopt;
  return found->second;
}

class Maker {
 public:
  explicit Maker(const RecordSet& set)
      : set_(set),
        speed_(**FindMetric("speed")),
        drafter_cost_(**FindMetric("drafter_cost")),
        tokens_per_pass_(**FindMetric("tokens_per_pass")) {
    for (const CellRecords& cell : set.cells)
      compares_ = compares_ || cell.cell->opponents_size() > 0;
  }

  Answer Make() {
    Answer answer = {.question = set_.files.front().context.question()};
    for (const RecordFile& file : set_.files)
      answer.records += file.prompts.size();
    std::set<const records::Context*> experiments;
    for (const CellRecords& cell : set_.cells) {
      if (experiments.insert(cell.context).second)
        answer.expected +=
            static_cast<std::size_t>(cell.context->cells_size()) *
            cell.context->workload().prompts();
      AddFastest(cell, TargetOf(cell, answer));
      if (IsRival(cell)) AddRival(cell, TargetOf(cell, answer));
    }
    std::stable_sort(answer.targets.begin(), answer.targets.end(),
                     [this](const TargetAnswer& a, const TargetAnswer& b) {
                       return bytes_.at(a.name) > bytes_.at(b.name);
                     });
    for (TargetAnswer& target : answer.targets)
      target.opening = Opening(target, answer.targets.size() > 1);
    answer.refuted = set_.refuted;
    answer.notes = Notes(set_, answer);
    return answer;
  }

 private:
  bool IsRival(const CellRecords& cell) const {
    return compares_ ? cell.cell->opponents_size() > 0
                     : cell.cell->trunks_size() > 0;
  }

  TargetAnswer& TargetOf(const CellRecords& cell, Answer& answer) {
    const std::string name = TargetName(*cell.cell);
    bytes_.emplace(name, cell.cell->target().streamed_bytes());
    for (TargetAnswer& target : answer.targets)
      if (target.name == name) return target;
    const std::string& grown = cell.cell->target().grown_from();
    answer.targets.push_back(
        {.name = name,
         .marks =
             grown.empty() ? "" : absl::StrCat(" (grown from ", grown, ")")});
    return answer.targets.back();
  }

  // Axes whose values differ with nothing but target and temperature are left
  // out of names: those stand elsewhere.
  std::string RowName(const CellRecords& cell) const {
    std::string name = cell.cell->method();
    for (const records::Axis& axis : cell.cell->axes()) {
      if (!Varies(axis.name())) continue;
      if (axis.name() == "machine")  // first: ends of long names are cut off
        name = absl::StrCat("machine ", axis.value(), ", ", name);
      else
        absl::StrAppend(&name, ", ", ShortAxis(axis.name(), *cell.cell), "=",
                        axis.value());
    }
    return name;
  }

  // Whether some target and temperature have several values of the axis.
  bool Varies(const std::string& axis) const {
    std::map<std::pair<std::string, double>, std::string> seen;
    for (const CellRecords& cell : set_.cells)
      for (const records::Axis& own : cell.cell->axes()) {
        if (own.name() != axis) continue;
        const auto [at, is_new] = seen.try_emplace(
            {TargetName(*cell.cell), cell.cell->temperature()}, own.value());
        if (!is_new && at->second != own.value()) return true;
      }
    return false;
  }

  AgainstCell Against(const CellRecords& cell, const CellRecords& other) {
    const std::optional<Estimate> difference =
        Only(EstimateDifferences(speed_, cell.pairs, other.pairs, bootstrap_));
    return {.other = &other,
            .name = RowName(other),
            .speed = Only(EstimateAll(speed_, other.pairs, bootstrap_)),
            .tokens_per_pass =
                Only(EstimateAll(tokens_per_pass_, other.pairs, bootstrap_)),
            .difference = difference,
            .verdict = Judge(difference, /*more_is_faster=*/true)};
  }

  void AddFastest(const CellRecords& cell, TargetAnswer& target) {
    target.prompts = std::max(target.prompts, cell.pairs.size());
    if (!cell.cell->lossless()) return;
    const std::optional<Estimate> speed =
        Only(EstimateAll(speed_, cell.pairs, bootstrap_));
    if (!speed.has_value()) return;
    FastestCell& fastest = target.fastest[cell.cell->temperature()];
    if (fastest.cell == nullptr || speed->value > fastest.speed.value)
      fastest = {&cell, RowName(cell), *speed};
  }

  static void AddChain(AgainstCell chain, AnswerEntry& entry) {
    for (const AgainstCell& known : entry.chains)
      if (known.other == chain.other) return;
    entry.chains.push_back(std::move(chain));
  }

  // One that beats the predicted length.
  void AddNeighbour(const CellRecords& cell, const CellRecords& predicted,
                    const CellRecords& other, bool own, AnswerEntry& entry) {
    for (FasterNeighbour& known : entry.neighbours)
      if (known.against.other == &other) {
        known.of_own_drafter = known.of_own_drafter || own;
        return;
      }
    const AgainstCell beside = Against(other, predicted);
    if (beside.verdict == SpeedVerdict::kFaster)
      entry.neighbours.push_back(
          {RowName(predicted), own, *beside.difference, Against(cell, other)});
  }

  void AddRival(const CellRecords& cell, TargetAnswer& target) {
    AnswerEntry entry = {
        .cell = &cell,
        .speed = Only(EstimateAll(speed_, cell.pairs, bootstrap_)),
        .tokens_per_pass =
            Only(EstimateAll(tokens_per_pass_, cell.pairs, bootstrap_))};
    if (const auto cost =
            Only(EstimateAll(drafter_cost_, cell.pairs, bootstrap_)))
      entry.level_cost = cost->value;
    const CellRecords* reference = set_.Find(cell.baseline);
    const CellRecords* predicted = nullptr;
    bool own = false;  // a chain of the rival's drafter
    for (const records::Opponent& opponent : cell.cell->opponents()) {
      const CellRecords* other = set_.Find(cell, opponent.cell());
      if (opponent.role() == records::Opponent::NEIGHBOUR) {
        if (predicted != nullptr && other != nullptr)
          AddNeighbour(cell, *predicted, *other, own, entry);
        continue;
      }
      predicted = other;
      own = opponent.role() != records::Opponent::REFERENCE;
      if (other == nullptr) continue;
      if (opponent.role() == records::Opponent::REFERENCE)
        reference = other;
      else
        AddChain(Against(cell, *other), entry);
    }
    // Chains of its own are what a tree has to beat; a chain has none.
    if (!entry.chains.empty())
      for (const FasterNeighbour& faster : entry.neighbours)
        if (faster.of_own_drafter) AddChain(faster.against, entry);
    if (reference != nullptr) entry.reference = Against(cell, *reference);
    const std::string name = RowName(cell);
    auto row = std::find_if(
        target.rows.begin(), target.rows.end(),
        [&](const AnswerRow& other) { return other.name == name; });
    if (row == target.rows.end())
      row = target.rows.insert(target.rows.end(), {.name = name, .at = {}});
    row->at.emplace(cell.cell->temperature(), std::move(entry));
  }

  const RecordSet& set_;
  const MetricRow& speed_;
  const MetricRow& drafter_cost_;
  const MetricRow& tokens_per_pass_;
  Bootstrap bootstrap_;
  std::map<std::string, std::uint64_t> bytes_;  // by target
  bool compares_ = false;
};

// Means over few prompts are a few per cent off in both numbers.
constexpr double kExplained = 1.05;

}  // namespace

bool IsUnexplained(const AnswerEntry& entry) {
  return entry.speed.has_value() && entry.tokens_per_pass.has_value() &&
         entry.speed->value > kExplained * entry.tokens_per_pass->value;
}

Answer MakeAnswer(const RecordSet& set) { return Maker(set).Make(); }

const AgainstCell& WorstChain(const AnswerEntry& entry) {
  const auto worth = [](const AgainstCell& chain) {
    return chain.difference.has_value() ? chain.difference->value : 0;
  };
  const auto rank = [](const AgainstCell& chain) {
    return chain.verdict == SpeedVerdict::kSlower   ? 0
           : chain.verdict == SpeedVerdict::kFaster ? 2
                                                    : 1;
  };
  return *std::min_element(entry.chains.begin(), entry.chains.end(),
                           [&](const AgainstCell& a, const AgainstCell& b) {
                             return std::pair(rank(a), worth(a)) <
                                    std::pair(rank(b), worth(b));
                           });
}

}  // namespace banyan
