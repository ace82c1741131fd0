#include "experiments/proof/exact_law.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "core/base/common.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/random/enumerating_source.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "drafters/catalogue.h"
#include "drafters/drafter.h"
#include "experiments/plan/build_method.h"
#include "experiments/plan/method_spec.h"
#include "experiments/plan/read_method.h"
#include "experiments/proof/controls.h"
#include "tree/tree_policy.h"

namespace banyan {

namespace {

using Text = std::vector<TokenId>;
using States = std::vector<std::vector<double>>;  // of the policies
using Policies = std::vector<std::unique_ptr<TreePolicy>>;

// Where one or more rounds can lead, with its probability.
struct Step {
  Text emitted;
  States states;
  auto operator<=>(const Step&) const = default;
};
using StepLaw = std::map<Step, double>;

class Enumeration {
 public:
  Enumeration(const TableModel& target, Decoder& decoder,
              const LawOptions& options)
      : target_(target), decoder_(decoder), options_(options) {}

  absl::StatusOr<ExactLaw> Run() {
    for (const Trunk& trunk : decoder_.method().trunks)
      if (trunk.drafter->carried() != nullptr)
        return absl::FailedPreconditionError(
            absl::StrCat("drafter ", trunk.drafter_name,
                         " carries state from prompt to prompt: its runs "
                         "cannot be enumerated"));
    Text start = {target_.begin()};
    start.insert(start.end(), options_.prompt.begin(), options_.prompt.end());
    BANYAN_ASSIGN_OR_RETURN(result_.target_law,
                            TargetLaw(start, options_.horizon));
    Policies policies;
    for (const Trunk& trunk : decoder_.method().trunks)
      policies.push_back(trunk.policy->Clone());
    const States states = Keep(std::move(policies));
    BANYAN_ASSIGN_OR_RETURN(result_.law, Law(start, states, options_.horizon));
    Compare();
    return std::move(result_);
  }

 private:
  // Returns the target distribution of the `length` tokens after `text`.
  absl::StatusOr<StringLaw> TargetLaw(const Text& text, int length) {
    if (length == 0) return StringLaw{{{}, 1.0}};
    const auto known = target_laws_.find({text, length});
    if (known != target_laws_.end()) return known->second;
    BANYAN_ASSIGN_OR_RETURN(const Distribution next, TargetRow(text));
    StringLaw law;
    for (TokenId token = 0; token < target_.vocab_size(); ++token) {
      const double mass = next.Mass(token);
      Text longer = text;
      longer.push_back(token);
      BANYAN_ASSIGN_OR_RETURN(const StringLaw rest,
                              TargetLaw(longer, length - 1));
      Append({token}, rest, mass, law);
    }
    target_laws_[{text, length}] = law;
    return law;
  }

  absl::StatusOr<Distribution> TargetRow(const Text& text) const {
    std::unique_ptr<Session> session = target_.NewSession();
    const Text before(text.begin(), text.end() - 1);
    BANYAN_RETURN_IF_ERROR(session->Prefill(before));
    const TokenBatch batch =
        TokenBatch::Chain({text.back()}, session->length());
    BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Scores> scores,
                            ScoreOne(target_, *session, batch));
    return scores->Law(0, decoder_.method().rule, text, {});
  }

  // Returns the output distribution of the `length` tokens after `text`.
  absl::StatusOr<StringLaw> Law(const Text& text, const States& states,
                                int length) {
    const auto known = laws_.find({text, states});
    if (known != laws_.end()) return known->second;
    BANYAN_ASSIGN_OR_RETURN(const StepLaw steps, Steps(text, states));
    StringLaw law;
    for (const auto& [step, probability] : steps) {
      Text emitted = step.emitted;
      if (static_cast<int>(emitted.size()) > length)
        emitted.resize(static_cast<std::size_t>(length));
      const int missing = length - static_cast<int>(emitted.size());
      Text longer = text;
      longer.insert(longer.end(), emitted.begin(), emitted.end());
      StringLaw rest = {{{}, 1.0}};
      if (missing > 0 && options_.rounds == 0) {
        BANYAN_ASSIGN_OR_RETURN(rest, Law(longer, step.states, missing));
      } else {
        BANYAN_ASSIGN_OR_RETURN(rest, TargetLaw(longer, missing));
      }
      Append(emitted, rest, probability, law);
    }
    laws_[{text, states}] = law;
    return law;
  }

  static void Append(const Text& head, const StringLaw& tails, double factor,
                     StringLaw& law) {
    for (const auto& [tail, probability] : tails) {
      Text text = head;
      text.insert(text.end(), tail.begin(), tail.end());
      law[text] += factor * probability;
    }
  }

  // Enumerates the next rounds after `text`.
  absl::StatusOr<StepLaw> Steps(const Text& text, const States& states) {
    const bool tampered = options_.wrap != nullptr;
    EnumeratingSource source(options_.max_branches - result_.branches,
                             tampered ? EnumeratingSource::Keys::kMayRepeat
                                      : EnumeratingSource::Keys::kMustDiffer);
    StepLaw steps;
    do {
      BANYAN_ASSIGN_OR_RETURN(Step step, RunOnce(text, states, source));
      steps[std::move(step)] += source.probability();
      if (text.size() == 1 + options_.prompt.size())
        NoteFirstRound(source.probability());
    } while (source.Advance());
    result_.branches += source.runs();
    if (source.exhausted())
      return absl::ResourceExhaustedError(
          absl::StrCat("the enumeration needs more than max_branches = ",
                       options_.max_branches, " branches"));
    return steps;
  }

  absl::StatusOr<Step> RunOnce(const Text& text, const States& states,
                               EnumeratingSource& source) {
    constexpr int kUnlimited = 1 << 20;
    BANYAN_ASSIGN_OR_RETURN(
        Sequence sequence,
        decoder_.Begin({.tokens = text}, {.max_new_tokens = kUnlimited}));
    const Policies& policies = policies_.at(states);
    for (std::size_t i = 0; i < policies.size(); ++i)
      sequence.trunks[i].policy = policies[i]->Clone();
    std::unique_ptr<RandomSource> wrapped;
    if (options_.wrap != nullptr) wrapped = options_.wrap(source);
    RandomSource& random = wrapped == nullptr ? source : *wrapped;

    Step step;
    Policies after;
    const int rounds = std::max(options_.rounds, 1);
    for (int i = 0; i < rounds; ++i) {
      BANYAN_ASSIGN_OR_RETURN(const RoundRecord record,
                              decoder_.Step(sequence, random));
      if (i == 0) first_path_ = record.verdict.path.size();
      accepted_ = (i == 0 ? 0 : accepted_) + record.verdict.path.size();
      step.emitted.insert(step.emitted.end(), record.emitted.begin(),
                          record.emitted.end());
    }
    for (SequenceTrunk& trunk : sequence.trunks)
      after.push_back(std::move(trunk.policy));
    step.states = Keep(std::move(after));
    return step;
  }

  // Returns the states of policies, and keeps these where they are the first in
  // them.
  States Keep(Policies policies) {
    States states;
    for (const auto& policy : policies) states.push_back(policy->State());
    policies_.try_emplace(states, std::move(policies));
    return states;
  }

  void NoteFirstRound(double probability) {
    std::vector<double>& depths = result_.acceptance_per_depth;
    depths.resize(std::max(depths.size(), first_path_), 0.0);
    for (std::size_t d = 0; d < first_path_; ++d) depths[d] += probability;
    result_.expected_tokens_per_round +=
        probability * static_cast<double>(first_path_ + 1);
    result_.expected_accepted += probability * static_cast<double>(accepted_);
  }

  void Compare() {
    double sum = 0;
    for (const auto& [text, expected] : result_.target_law) {
      const double error = std::abs(result_.law[text] - expected);
      // Written so that NaN shows.
      if (!(error <= result_.max_abs_error)) result_.max_abs_error = error;
      sum += error;
    }
    result_.total_variation = sum / 2;
  }

  const TableModel& target_;
  Decoder& decoder_;
  const LawOptions& options_;
  ExactLaw result_;
  std::size_t first_path_ = 0;  // accepted by the first round of this run
  std::size_t accepted_ = 0;    // by all its rounds
  std::map<std::pair<Text, int>, StringLaw> target_laws_;
  std::map<std::pair<Text, States>, StringLaw> laws_;
  std::map<States, Policies> policies_;  // one of each state that was reached
};

}  // namespace

absl::StatusOr<ExactLaw> ComputeExactLaw(const TableModel& target,
                                         Decoder& decoder,
                                         const LawOptions& options) {
  return Enumeration(target, decoder, options).Run();
}

namespace {

constexpr double kSumTolerance = 1e-9;
constexpr int kMostStrings = 200'000;  // of the horizon; each is printed

absl::Status ReadRow(const Params& value, int vocab_size,
                     std::vector<double>& row) {
  BANYAN_RETURN_IF_ERROR(Convert(value, row));
  if (static_cast<int>(row.size()) != vocab_size)
    return value.Error(absl::StrCat("expected ", vocab_size,
                                    " probabilities, one a token, found ",
                                    row.size()));
  double sum = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] < 0)
      return value.items()[i].Error(
          absl::StrCat("expected a probability, found ", row[i]));
    sum += row[i];
  }
  if (!(std::abs(sum - 1) <= kSumTolerance))
    return value.Error(absl::StrCat(
        "expected probabilities that sum to 1, found a sum of ", sum));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<TableModel>> ReadTable(ParamsReader& in,
                                                      int vocab_size) {
  Params start_value;
  Params next_value;
  in.Required("start", start_value);
  in.Required("next", next_value);
  BANYAN_RETURN_IF_ERROR(in.Finish());
  std::vector<double> start;
  BANYAN_RETURN_IF_ERROR(ReadRow(start_value, vocab_size, start));
  std::vector<Params> rows;
  BANYAN_RETURN_IF_ERROR(Convert(next_value, rows));
  if (static_cast<int>(rows.size()) != vocab_size)
    return next_value.Error(absl::StrCat("expected ", vocab_size,
                                         " rows, one a previous token, found ",
                                         rows.size()));
  std::vector<std::vector<double>> next(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    BANYAN_RETURN_IF_ERROR(ReadRow(rows[i], vocab_size, next[i]));
  return std::make_shared<TableModel>(
      TableModel::Bigram(std::move(start), std::move(next)));
}

// Puts the drafter's table on the bench, and gives the section of a small model
// that drafts by it.
absl::StatusOr<Params> ReadDrafter(const Params& section, int number,
                                   Workbench& bench) {
  if (section.Find("name") != nullptr) return section;  // of the catalogue
  ParamsReader in(section, absl::StrCat("drafter ", number));
  const Params* sampling = in.Take("sampling");
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<TableModel> table,
                          ReadTable(in, bench.target().vocab_size()));
  const std::string name = absl::StrCat(number);
  bench.AddModel(name, std::move(table));
  std::vector<Params::Entry> entries = {
      {"name", {}, Params::Scalar("small_model")},
      {"model", {}, Params::Scalar(name)}};
  if (sampling != nullptr) entries.push_back({"sampling", {}, *sampling});
  return Params::Map(std::move(entries), section.origin());
}

// The sections of the file, read and not yet understood.
struct Sections {
  Params target;
  MethodSpec method;
  const Params* control = nullptr;
};

absl::StatusOr<Sections> ReadSections(const Params& file, ExactFile& exact) {
  ParamsReader in(file, "exact file");
  Sections sections;
  int max_branches = 1'000'000;
  in.Required("vocab", exact.vocab_size);
  in.Ensure(exact.vocab_size >= 1, "vocab", "must be at least 1");
  in.Required("horizon", exact.options.horizon);
  in.Ensure(exact.options.horizon >= 1, "horizon", "must be at least 1");
  in.Ensure(std::pow(exact.vocab_size, exact.options.horizon) <= kMostStrings,
            "horizon",
            absl::StrCat("asks for more than ", kMostStrings, " strings"));
  in.Optional("max_branches", max_branches);
  in.Ensure(max_branches >= 1, "max_branches", "must be at least 1");
  exact.options.max_branches = max_branches;
  in.Optional("rounds_together", exact.options.rounds);
  in.Ensure(exact.options.rounds >= 0, "rounds_together", "must be at least 0");
  in.Required("target", sections.target);
  const MethodKeys keys = TakeMethodKeys(in);
  sections.control = in.Take("control");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  BANYAN_ASSIGN_OR_RETURN(sections.method, ReadMethod(keys));
  return sections;
}

// Replaces what the control breaks.
absl::Status Break(const Params& control, ExactFile& exact, Method& method) {
  BANYAN_ASSIGN_OR_RETURN(const ControlRow* row, FindControl(control));
  exact.control = std::string(row->name);
  if (row->wrap != nullptr)
    method.verifier = row->wrap(std::move(method.verifier), method.rule);
  if (row->chance != nullptr) exact.options.wrap = row->chance;
  if (row->rounds > 0) exact.options.rounds = row->rounds;
  return absl::OkStatus();
}

absl::Status AddTableTrunks(const MethodSpec& spec, ExactFile& exact,
                            Method& method) {
  exact.bench = std::make_unique<Workbench>(exact.target, method.rule,
                                            std::make_shared<Assets>());
  std::vector<Params> drafters;
  for (const Params& section : spec.drafters) {
    BANYAN_ASSIGN_OR_RETURN(
        Params drafter,
        ReadDrafter(section, static_cast<int>(drafters.size()), *exact.bench));
    drafters.push_back(std::move(drafter));
  }
  const auto make = [&](int number) -> absl::StatusOr<NamedDrafter> {
    BANYAN_ASSIGN_OR_RETURN(
        std::unique_ptr<Drafter> drafter,
        BuildDrafter(drafters[static_cast<std::size_t>(number)], *exact.bench));
    return NamedDrafter{absl::StrCat(number), std::move(drafter)};
  };
  return AddTrunks(spec, make, method);
}

}  // namespace

absl::StatusOr<ExactFile> ReadExactFile(const Params& file) {
  ExactFile exact;
  BANYAN_ASSIGN_OR_RETURN(const Sections sections, ReadSections(file, exact));
  ParamsReader target(sections.target, "target");
  BANYAN_ASSIGN_OR_RETURN(exact.target, ReadTable(target, exact.vocab_size));

  BANYAN_ASSIGN_OR_RETURN(SamplingRule rule, ReadSampling(sections.method));
  BANYAN_ASSIGN_OR_RETURN(Method method,
                          StartMethod(sections.method, std::move(rule)));
  if (sections.control != nullptr)
    BANYAN_RETURN_IF_ERROR(Break(*sections.control, exact, method));
  BANYAN_RETURN_IF_ERROR(AddTableTrunks(sections.method, exact, method));
  BANYAN_ASSIGN_OR_RETURN(
      exact.decoder,
      MakeDecoder(sections.method, *exact.target, std::move(method)));
  return exact;
}

}  // namespace banyan
