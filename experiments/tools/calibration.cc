#include "experiments/tools/calibration.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "configs/loader/writer.h"
#include "core/base/check.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/random/seeded_source.h"
#include "decode/commit.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "experiments/metrics/level_cost.h"
#include "experiments/metrics/median.h"
#include "experiments/models/method_file.h"
#include "experiments/plan/method_spec.h"
#include "experiments/plan/policy_spec.h"
#include "tree/draft_tree.h"
#include "tree/policies/calibration_keys.h"
#include "tree/policies/plans.h"

namespace banyan {
namespace {

constexpr int kTimedLevels = 4;  // of the chains that are timed

// Opens the method with another policy. The draw kind that its own policy
// states is kept, unless `draws` names one.
absl::StatusOr<LoadedMethod> OpenWith(const CalibrationTask& task,
                                      const Params& section,
                                      absl::string_view draws = "") {
  MethodSpec method = task.method;
  PolicySpec policy(section);
  if (!draws.empty())
    policy.SetDraws(draws);
  else if (!method.trunks.empty() && !method.trunks.front().has_own_policy)
    policy.TakeStatedDraws(method.trunks.front().policy);
  method.trunks.clear();
  for (std::size_t i = 0; i < method.drafters.size(); ++i)
    method.trunks.push_back({.drafter = static_cast<int>(i), .policy = policy});
  return OpenMethod(method, task.context);
}

void Hit(std::size_t rank, Shares& shares) {
  if (shares.hits.size() <= rank) shares.hits.resize(rank + 1);
  ++shares.hits[rank];
}

// The root's draws: which was accepted.
void CountRanks(const RoundRecord& round, Shares& shares) {
  const Node& root = round.tree.node(0);
  if (root.lists.empty() || root.lists.front().draws.empty()) return;
  ++shares.trials;
  if (round.verdict.path.empty()) return;
  const auto& draws = root.lists.front().draws;
  for (std::size_t i = 0; i < draws.size(); ++i)
    if (draws[i].child == round.verdict.path.front()) return Hit(i, shares);
}

// Returns a token's rank in a distribution, from 0; -1 if it has no mass.
int RankOf(const Distribution& law, TokenId token) {
  const double mass = law.Mass(token);
  if (!(mass > 0)) return -1;
  int rank = 0;
  law.ForEach([&](TokenId other, double own) {
    if (own > mass || (own == mass && other < token)) ++rank;
  });
  return rank;
}

// A round's guesses, and where in the output they belong.
struct Guesses {
  std::size_t first = 0;
  std::vector<Distribution> laws;  // by head
};

Guesses GuessesOf(const RoundRecord& round, std::size_t first) {
  Guesses guesses = {first, {}};
  for (const Node& node : round.tree.nodes())  // a chain: by depth
    for (const DrawList& list : node.lists)
      guesses.laws.push_back(list.proposal.q);
  return guesses;
}

void CountHeads(const std::vector<Guesses>& all,
                const std::vector<TokenId>& output, int ranks,
                std::vector<Shares>& heads) {
  for (const Guesses& guesses : all) {
    for (std::size_t head = 0; head < guesses.laws.size(); ++head) {
      const std::size_t at = guesses.first + head;
      if (at >= output.size()) break;
      if (heads.size() <= head) heads.resize(head + 1);
      ++heads[head].trials;
      const int rank = RankOf(guesses.laws[head], output[at]);
      if (rank >= 0 && rank < ranks)
        Hit(static_cast<std::size_t>(rank), heads[head]);
    }
  }
}

// What rounds of one shape cost, round by round.
struct RoundCosts {
  std::vector<double> level_ms;  // beside the target's pass, of a level
  std::vector<double> round_ms;  // of rounds that the device ran alone
};

void AddCost(const RoundRecord& round, RoundCosts& costs) {
  const int levels = round.tree.Height();
  if (levels == 0) return;
  const PhaseTimes& times = round.times;
  if (times.device_ns > 0) {
    costs.round_ms.push_back(static_cast<double>(times.TotalNs()) / 1e6);
    return;
  }
  const std::int64_t draft_ns = std::accumulate(
      times.draft_ns.begin(), times.draft_ns.end(), std::int64_t{0});
  const double around_ns =
      static_cast<double>(times.derive_ns + times.verify_ns + times.commit_ns);
  costs.level_ms.push_back(
      CostOfLevel(static_cast<double>(draft_ns), around_ns, levels) / 1e6);
}

absl::StatusOr<RoundCosts> TimeRounds(const CalibrationTask& task,
                                      const Params& policy) {
  BANYAN_ASSIGN_OR_RETURN(const LoadedMethod method, OpenWith(task, policy));
  SeededSource random(task.seed);
  RoundCosts costs;
  for (const Prompt& prompt : task.prompts)
    BANYAN_RETURN_IF_ERROR(
        method.decoder
            ->Decode(prompt, task.stop, random,
                     [&](const RoundRecord& round) { AddCost(round, costs); })
            .status());
  return costs;
}

// The cost of a level, on all prompts. A round that the device ran alone has no
// phases: there it is what a round has more for each level than one whose nodes
// are as many and all of one level.
absl::Status TimeLevels(const CalibrationTask& task, Calibration& out) {
  BANYAN_ASSIGN_OR_RETURN(RoundCosts costs,
                          TimeRounds(task, ChainSection(kTimedLevels)));
  if (!costs.round_ms.empty()) {
    BANYAN_ASSIGN_OR_RETURN(RoundCosts one,
                            TimeRounds(task, RootSection(kTimedLevels)));
    out.draft_ms = std::max(0.0, (Median(std::move(costs.round_ms)) -
                                  Median(std::move(one.round_ms))) /
                                     (kTimedLevels - 1));
  } else if (!costs.level_ms.empty()) {
    out.draft_ms = Median(std::move(costs.level_ms));
  }
  return absl::OkStatus();
}

Params Texts(const std::vector<std::int64_t>& numbers,
             absl::FunctionRef<std::string(std::int64_t)> text) {
  std::vector<Params> items;
  for (std::int64_t number : numbers)
    items.push_back(Params::Scalar(text(number)));
  return Params::List(std::move(items));
}

Params CountList(const std::vector<std::int64_t>& counts) {
  return Texts(counts, [](std::int64_t count) { return absl::StrCat(count); });
}

// Of the hits, what `share` makes of each.
Params ShareList(const Shares& shares,
                 absl::FunctionRef<double(std::int64_t)> share) {
  return Texts(shares.hits, [&](std::int64_t hits) {
    return absl::StrFormat("%.4f", share(hits));
  });
}

Params ShareList(const Shares& shares) {
  return ShareList(shares, [&](std::int64_t hits) {
    return static_cast<double>(hits) / static_cast<double>(shares.trials);
  });
}

// By key, whatever was measured.
std::map<absl::string_view, Params> Measured(const Calibration& calibration) {
  const Shares& ranks = calibration.acceptance;
  std::map<absl::string_view, Params> values = {
      {"drafter", Params::Scalar(calibration.drafter)},
      {"verifier", Params::Scalar(calibration.verifier)},
      {"draws", Params::Scalar(calibration.law)},
      {"temperature", Params::Scalar(absl::StrCat(calibration.temperature))},
      {"tokens", Params::Scalar(absl::StrCat(calibration.tokens))},
      {"nodes", Params::Scalar(absl::StrCat(ranks.trials))},
      {"accepted", CountList(ranks.hits)},
      {"acceptance", ShareList(ranks)},
      {"acceptance_low",
       ShareList(ranks,
                 [&](std::int64_t hits) {
                   return WilsonInterval(hits, ranks.trials).low;
                 })},
      {"acceptance_high", ShareList(ranks, [&](std::int64_t hits) {
         return WilsonInterval(hits, ranks.trials).high;
       })}};
  if (calibration.draft_ms > 0)
    values["draft_ms"] =
        Params::Scalar(absl::StrFormat("%.5f", calibration.draft_ms));
  if (calibration.heads.empty()) return values;
  std::vector<std::int64_t> positions;
  std::vector<Params> hits;
  std::vector<Params> accuracies;
  for (const Shares& head : calibration.heads) {
    positions.push_back(head.trials);
    hits.push_back(CountList(head.hits));
    accuracies.push_back(ShareList(head));
  }
  values["positions"] = CountList(positions);
  values["hits"] = Params::List(std::move(hits));
  values["accuracies"] = Params::List(std::move(accuracies));
  return values;
}

}  // namespace

ShareInterval WilsonInterval(std::int64_t hits, std::int64_t trials) {
  if (trials == 0) return {};
  constexpr double kZ = 1.959963984540054;  // 95 % of a normal distribution
  const double n = static_cast<double>(trials);
  const double p = static_cast<double>(hits) / n;
  const double scale = 1 / (1 + kZ * kZ / n);
  const double middle = scale * (p + kZ * kZ / (2 * n));
  const double half =
      scale * kZ * std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n));
  return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

absl::StatusOr<Calibration> Calibrate(
    const CalibrationTask& task,
    absl::FunctionRef<void(int done, int all)> progress) {
  if (task.method.drafters.empty())
    return ErrorAt(task.method.place, "the method has no drafter to calibrate");
  BANYAN_ASSIGN_OR_RETURN(const LoadedMethod ranks,
                          OpenWith(task, RootSection(task.ranks)));
  const Method& method = ranks.decoder->method();
  if (method.trunks.size() != 1)
    return ErrorAt(
        task.method.place,
        absl::StrCat("calibration takes a method with one drafter, this one "
                     "has ",
                     method.trunks.size()));
  const Trunk& trunk = method.trunks.front();
  Calibration out = {.drafter = trunk.drafter_name,
                     .verifier = method.verifier_name,
                     .law = std::string(Name(trunk.draw_kind)),
                     .temperature = method.rule.options().temperature};
  LoadedMethod heads;
  if (const int count = trunk.drafter->traits().depth_heads; count > 0) {
    BANYAN_ASSIGN_OR_RETURN(heads, OpenWith(task, ChainSection(count),
                                            Name(DrawKind::kDeterministic)));
    heads.decoder->StayOnHost();  // whole distributions are read
  }
  SeededSource random(task.seed);
  int done = 0;
  for (const Prompt& prompt : task.prompts) {
    BANYAN_ASSIGN_OR_RETURN(
        const std::vector<TokenId> tokens,
        ranks.decoder->Decode(prompt, task.stop, random,
                              [&](const RoundRecord& round) {
                                CountRanks(round, out.acceptance);
                              }));
    out.tokens += static_cast<std::int64_t>(tokens.size());
    if (heads.decoder != nullptr) {
      std::vector<Guesses> guesses;
      std::size_t first = 0;
      BANYAN_ASSIGN_OR_RETURN(
          const std::vector<TokenId> output,
          heads.decoder->Decode(prompt, task.stop, random,
                                [&](const RoundRecord& round) {
                                  guesses.push_back(GuessesOf(round, first));
                                  first += round.emitted.size();
                                }));
      CountHeads(guesses, output, task.ranks, out.heads);
    }
    progress(++done, static_cast<int>(task.prompts.size()));
  }
  if (out.acceptance.trials == 0)
    return absl::InvalidArgumentError(
        "calibration: the drafter proposed nothing on these prompts");
  if (task.timed) BANYAN_RETURN_IF_ERROR(TimeLevels(task, out));
  return out;
}

std::string ToYaml(const Calibration& calibration, const std::string& about) {
  std::string out = about;
  std::size_t written = 0;
  const std::map<absl::string_view, Params> values = Measured(calibration);
  for (const CalibrationKey& key : kCalibrationKeys) {
    const auto value = values.find(key.name);
    if (value == values.end()) continue;
    if (!key.comment.empty()) absl::StrAppend(&out, "# ", key.comment, "\n");
    out += ToYaml(Params::Map({{std::string(key.name), {}, value->second}}));
    ++written;
  }
  Check(written == values.size(), "a key that no policy would read");
  return out;
}

}  // namespace banyan
