#include "experiments/report/answer/answer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

#include "core/base/common.h"
#include "experiments/metrics/catalogue.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/record.pb.h"

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

// A chain beside the predicted one of its drafter.
struct Neighbour {
  AgainstCell against;  // the rival against it
  Difference gain;      // of its speed over the predicted one's
};

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
    Answer answer = {.question = set_.files.front().context.question(),
                     .loaded = set_.loaded,
                     .refuted = set_.refuted};
    CountRecords(answer);
    for (const CellRecords& cell : set_.cells) {
      int& prompts =
          TargetOf(cell, answer).at[cell.cell->temperature()].prompts;
      const auto tokens = Only(EstimateAll(tokens_per_pass_, cell.pairs));
      if (tokens.has_value()) prompts = std::max(prompts, tokens->prompts);
    }
    for (TargetAnswer& target : answer.targets)
      for (auto& [temperature, at] : target.at)
        at.noise = NoiseOf(target.name, temperature);
    for (const CellRecords& cell : set_.cells)
      if (IsRival(cell)) AddRival(cell, TargetOf(cell, answer));
    FindFasterChains(answer);
    DecideAll(answer);
    for (TargetAnswer& target : answer.targets)
      for (auto& [temperature, at] : target.at) Sum(target, temperature, at);
    std::stable_sort(answer.targets.begin(), answer.targets.end(),
                     [this](const TargetAnswer& a, const TargetAnswer& b) {
                       return bytes_.at(a.name) > bytes_.at(b.name);
                     });
    for (TargetAnswer& target : answer.targets)
      target.opening =
          Opening(answer.question, target, answer.targets.size() > 1);
    answer.notes = Notes(set_, answer);
    return answer;
  }

 private:
  // A repeat is in no table, and its records are in no count.
  void CountRecords(Answer& answer) const {
    std::set<const records::Context*> experiments;
    for (const RecordFile& file : set_.files)
      for (const records::PromptRecord& record : file.prompts)
        answer.records +=
            IsRepeat(file.context.cells(static_cast<int>(record.cell()))) ? 0
                                                                          : 1;
    for (const CellRecords& cell : set_.cells) {
      if (!experiments.insert(cell.context).second) continue;
      for (const records::Cell& own : cell.context->cells())
        answer.expected +=
            IsRepeat(own) ? 0 : cell.context->workload().prompts();
    }
  }

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
  std::string NameOf(const CellRecords& cell) const {
    std::string name = cell.cell->method();
    for (const records::Axis& axis : cell.cell->axes()) {
      if (!Varies(axis.name())) continue;
      if (axis.name() == "machine")
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

  // Of all baselines of the target at the temperature: one that differs is
  // enough, and the widest spread counts.
  PlainTwice NoiseOf(const std::string& target, double temperature) {
    PlainTwice noise;
    std::vector<Difference> differences;
    std::optional<double> spread;
    for (const CellRecords& repeat : set_.repeats) {
      if (TargetName(*repeat.cell) != target ||
          repeat.cell->temperature() != temperature)
        continue;
      const std::optional<Estimate> ratio =
          Only(EstimateAll(speed_, repeat.pairs));
      const CellRecords* plain = set_.Find(repeat.baseline);
      if (!ratio.has_value() || !ratio->interval.has_value() ||
          plain == nullptr)
        continue;
      const double own = std::max(ratio->interval->high,
                                  1 / std::max(1e-9, ratio->interval->low));
      if (!spread.has_value() || own > *spread) {
        spread = own;
        noise.speed = ratio;
      }
      differences.push_back(Compare(speed_, repeat.pairs, plain->pairs));
    }
    if (spread.has_value()) noise.spread = *spread;
    std::vector<Difference*> family;
    for (Difference& difference : differences) family.push_back(&difference);
    Decide(family);
    for (const Difference& difference : differences)
      noise.differs =
          noise.differs || difference.verdict != Judgement::kUndecided;
    return noise;
  }

  CellNumbers NumbersOf(const CellRecords& cell, const TargetAnswer& target) {
    const auto [known, is_new] = numbers_.try_emplace(&cell);
    CellNumbers& numbers = known->second;
    if (!is_new) return numbers;
    numbers = {
        .cell = &cell,
        .name = NameOf(cell),
        .speed = Only(EstimateAll(speed_, cell.pairs)),
        .tokens_per_pass = Only(EstimateAll(tokens_per_pass_, cell.pairs))};
    if (numbers.speed.has_value() && numbers.tokens_per_pass.has_value())
      numbers.unexplained =
          numbers.speed->value >
          target.at.at(cell.cell->temperature()).noise.spread *
              numbers.tokens_per_pass->value;
    return numbers;
  }

  AgainstCell Against(const CellRecords& cell, const CellRecords& other,
                      const TargetAnswer& target) {
    return {
        .other = NumbersOf(other, target),
        .speed = Compare(speed_, cell.pairs, other.pairs),
        .tokens_per_pass = Compare(tokens_per_pass_, cell.pairs, other.pairs)};
  }

  static void AddChain(AgainstCell chain, AnswerEntry& entry) {
    for (AgainstCell& known : entry.chains) {
      if (known.other.cell != chain.other.cell) continue;
      known.same_nodes = known.same_nodes || chain.same_nodes;
      return;
    }
    entry.chains.push_back(std::move(chain));
  }

  void AddRival(const CellRecords& cell, TargetAnswer& target) {
    AnswerEntry entry = {.own = NumbersOf(cell, target)};
    if (const auto cost = Only(EstimateAll(drafter_cost_, cell.pairs)))
      entry.level_cost = cost->value;
    const CellRecords* reference = set_.Find(cell.baseline);
    const CellRecords* predicted = nullptr;
    bool own = false;  // a chain of the rival's drafter
    for (const records::Opponent& opponent : cell.cell->opponents()) {
      const CellRecords* other = set_.Find(cell, opponent.cell());
      if (opponent.role() == records::Opponent::NEIGHBOUR) {
        if (own && predicted != nullptr && other != nullptr)
          neighbours_[&cell].push_back(
              {Against(cell, *other, target),
               Compare(speed_, other->pairs, predicted->pairs)});
        continue;
      }
      predicted = other;
      own = opponent.role() != records::Opponent::REFERENCE;
      if (other == nullptr) continue;
      if (!own) {
        reference = other;
        continue;
      }
      AgainstCell chain = Against(cell, *other, target);
      chain.same_nodes = opponent.role() == records::Opponent::SAME_NODES;
      AddChain(std::move(chain), entry);
    }
    if (reference != nullptr)
      entry.reference = Against(cell, *reference, target);
    const std::string name = entry.own.name;
    auto row = std::find_if(
        target.rows.begin(), target.rows.end(),
        [&](const AnswerRow& other) { return other.name == name; });
    if (row == target.rows.end())
      row = target.rows.insert(target.rows.end(), {.name = name, .at = {}});
    row->at.emplace(cell.cell->temperature(), std::move(entry));
  }

  // The one reference of all rivals at the temperature; null if there are
  // several.
  static const CellRecords* ReferenceAt(const TargetAnswer& target,
                                        double temperature) {
    std::set<const CellRecords*> references;
    for (const AnswerRow& row : target.rows)
      if (const auto found = row.at.find(temperature);
          found != row.at.end() && found->second.reference.has_value())
        references.insert(found->second.reference->other.cell);
    return references.size() == 1 ? *references.begin() : nullptr;
  }

  // Chains against a reference that is one.
  void FindFasterChains(const Answer& answer) {
    for (const TargetAnswer& target : answer.targets)
      for (const auto& [temperature, at] : target.at)
        if (const CellRecords* found = ReferenceAt(target, temperature);
            found != nullptr && found->cell->trunks_size() > 0) {
          const CellRecords& reference = *found;
          for (const CellRecords& other : set_.cells)
            if (&other != &reference && !IsRival(other) &&
                other.cell->lossless() && other.cell->trunks_size() > 0 &&
                !IsTree(*other.cell) && other.baseline == reference.baseline)
              chains_.try_emplace(
                  {&other, &reference},
                  Compare(speed_, other.pairs, reference.pairs));
        }
  }

  void DecideAll(Answer& answer) {
    std::vector<Difference*> speeds;
    std::vector<Difference*> tokens;
    const auto add = [&](AgainstCell& against) {
      speeds.push_back(&against.speed);
      tokens.push_back(&against.tokens_per_pass);
    };
    for (TargetAnswer& target : answer.targets)
      for (AnswerRow& row : target.rows)
        for (auto& [temperature, entry] : row.at) {
          if (entry.reference.has_value()) add(*entry.reference);
          for (AgainstCell& chain : entry.chains) add(chain);
          for (Neighbour& neighbour : neighbours_[entry.own.cell]) {
            add(neighbour.against);
            speeds.push_back(&neighbour.gain);
          }
        }
    for (auto& [pair, difference] : chains_) speeds.push_back(&difference);
    answer.comparisons = Decide(speeds);
    Decide(tokens);
    for (TargetAnswer& target : answer.targets)
      for (AnswerRow& row : target.rows)
        for (auto& [temperature, entry] : row.at)
          // Chains of its own are what a tree has to beat; a chain has none.
          for (Neighbour& neighbour : neighbours_[entry.own.cell])
            if (!entry.chains.empty() &&
                neighbour.gain.verdict == Judgement::kMore)
              AddChain(neighbour.against, entry);
  }

  // All chains of a tree's own drafters that were run.
  std::vector<const CellRecords*> Opponents(const AnswerEntry& entry) {
    std::vector<const CellRecords*> others;
    for (const AgainstCell& chain : entry.chains)
      others.push_back(chain.other.cell);
    for (const Neighbour& neighbour : neighbours_[entry.own.cell])
      if (std::find(others.begin(), others.end(),
                    neighbour.against.other.cell) == others.end())
        others.push_back(neighbour.against.other.cell);
    return others;
  }

  // Of the rivals at one temperature, what the question is about.
  void Sum(const TargetAnswer& target, double temperature,
           TemperatureAnswer& at) {
    std::vector<std::pair<const AnswerEntry*, std::string>> entries;
    for (const AnswerRow& row : target.rows)
      if (const auto found = row.at.find(temperature); found != row.at.end()) {
        entries.emplace_back(&found->second, row.name);
        at.trees = at.trees || !found->second.chains.empty();
      }
    std::vector<Contest> contests;
    for (const auto& [entry, name] : entries) {
      if (at.trees ? entry->chains.empty() : !entry->reference.has_value())
        continue;
      Contest contest = {.rival = entry->own.cell, .name = name};
      if (at.trees) {
        Count(WorstChain(*entry).speed, name, at.speed);
        Count(FewestTokens(*entry), name, at.tokens_per_pass);
        contest.others = Opponents(*entry);
      } else {
        Count(entry->reference->speed, name, at.speed);
        Count(entry->reference->tokens_per_pass, name, at.tokens_per_pass);
        contest.others = {entry->reference->other.cell};
      }
      contests.push_back(std::move(contest));
    }
    if (!contests.empty()) at.outlooks = Outlooks(contests);
    for (const auto& [pair, difference] : chains_)
      if (difference.verdict == Judgement::kMore &&
          pair.first->cell->temperature() == temperature &&
          TargetName(*pair.first->cell) == target.name)
        at.faster_chains.push_back(NumbersOf(*pair.first, target));
    std::sort(at.faster_chains.begin(), at.faster_chains.end(),
              [](const CellNumbers& a, const CellNumbers& b) {
                return a.speed->value > b.speed->value;
              });
    if (at.noise.differs) return;
    for (const CellRecords& cell : set_.cells)
      if (cell.cell->lossless() && cell.cell->temperature() == temperature &&
          TargetName(*cell.cell) == target.name) {
        const CellNumbers numbers = NumbersOf(cell, target);
        const auto rank = [](const CellNumbers& of) {
          return std::pair(IsShownFaster(of), of.speed->value);
        };
        if (numbers.speed.has_value() && !numbers.unexplained &&
            (!at.fastest.has_value() || rank(numbers) > rank(*at.fastest)))
          at.fastest = numbers;
      }
  }

  // Against a chain of as many nodes, or where none is the worst of its chains.
  static const Difference& FewestTokens(const AnswerEntry& entry) {
    for (const AgainstCell& chain : entry.chains)
      if (chain.same_nodes) return chain.tokens_per_pass;
    return WorstChain(entry).tokens_per_pass;
  }

  static void Count(const Difference& difference, const std::string& name,
                    Score& score) {
    ++score.all;
    if (difference.verdict == Judgement::kLess) ++score.less;
    if (difference.verdict != Judgement::kMore) return;
    ++score.more;
    score.winners.push_back(name);
  }

  const RecordSet& set_;
  const MetricRow& speed_;
  const MetricRow& drafter_cost_;
  const MetricRow& tokens_per_pass_;
  std::map<std::string, std::uint64_t> bytes_;  // by target
  std::map<const CellRecords*, CellNumbers> numbers_;
  std::map<const CellRecords*, std::vector<Neighbour>> neighbours_;  // by rival
  // A chain and a reference.
  std::map<std::pair<const CellRecords*, const CellRecords*>, Difference>
      chains_;
  bool compares_ = false;
};

}  // namespace

bool IsShownFaster(const CellNumbers& numbers) {
  return numbers.speed->interval.has_value() &&
         numbers.speed->interval->low > 1;
}

Answer MakeAnswer(const RecordSet& set) { return Maker(set).Make(); }

const AgainstCell& WorstChain(const AnswerEntry& entry) {
  const auto worth = [](const AgainstCell& chain) {
    const auto& estimate = chain.speed.estimate;
    return estimate.has_value() ? estimate->value : 0;
  };
  const auto rank = [](const AgainstCell& chain) {
    return chain.speed.verdict == Judgement::kLess   ? 0
           : chain.speed.verdict == Judgement::kMore ? 2
                                                     : 1;
  };
  return *std::min_element(entry.chains.begin(), entry.chains.end(),
                           [&](const AgainstCell& a, const AgainstCell& b) {
                             return std::pair(rank(a), worth(a)) <
                                    std::pair(rank(b), worth(b));
                           });
}

}  // namespace banyan
