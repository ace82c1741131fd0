#include "experiments/plan/opponents.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "experiments/plan/compare.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/method_spec.h"
#include "experiments/plan/one_drafter.h"
#include "experiments/plan/resolve.h"
#include "tree/policies/catalogue.h"
#include "tree/tree_policy.h"

namespace banyan {
namespace {

// What a rival drafts.
struct Drafts {
  std::vector<OneDrafter> drafters;
  int nodes = 0;
  bool chain = false;  // of one drafter
};

absl::StatusOr<Drafts> DraftsOf(const MethodSpec& method,
                                const std::string& target) {
  Drafts drafts = {.drafters = EachAlone(method, target)};
  drafts.chain = method.trunks.size() == 1;
  for (const TrunkSpec& trunk : method.trunks) {
    BANYAN_ASSIGN_OR_RETURN(const PolicyChoice choice,
                            BuildPolicy(trunk.policy.section()));
    const PolicyTraits traits = choice.policy->traits();
    drafts.nodes += traits.nodes;
    drafts.chain = drafts.chain && traits.chain;
  }
  return drafts;
}

// A predicted length is a guess: those beside it are tried too.
std::vector<int> Neighbours(int length) {
  constexpr int kDoubleFrom = 8;
  if (length >= kDoubleFrom) return {length / 2, 2 * length};
  if (length == 1) return {2};
  return {length - 1, length + 1};
}

class Matcher {
 public:
  Matcher(ChainFinder find, Experiment& out)
      : compare_(*out.compare), find_(find), out_(out) {
    for (std::size_t i = 0; i < out_.cells.size(); ++i) {
      const ExperimentCell& cell = out_.cells[i];
      if (IsRival(cell))
        rivals_.push_back(i);
      else if (!compare_.reference.empty() && cell.method == compare_.reference)
        references_[cell.combination].push_back(static_cast<int>(i));
    }
  }

  absl::Status Run() {
    std::map<std::size_t, Drafts> drafts;  // by rival
    for (std::size_t rival : rivals_) {
      const ExperimentCell& cell = out_.cells[rival];
      BANYAN_ASSIGN_OR_RETURN(
          drafts[rival],
          DraftsOf(cell.spec, FolderName(cell.target.directory)));
      for (const OneDrafter& drafter : drafts[rival].drafters)
        drafters_[cell.combination].push_back(drafter);
    }
    for (std::size_t rival : rivals_)
      BANYAN_RETURN_IF_ERROR(Oppose(rival, drafts[rival]));
    return absl::OkStatus();
  }

 private:
  bool IsRival(const ExperimentCell& cell) const {
    if (cell.method == kPlainMethod || cell.method == compare_.reference)
      return false;
    return compare_.rivals.empty() ||
           std::find(compare_.rivals.begin(), compare_.rivals.end(),
                     cell.method) != compare_.rivals.end();
  }

  absl::Status Oppose(std::size_t rival, const Drafts& drafts) {
    // A copy: cells are added.
    const ExperimentCell cell = out_.cells[rival];
    std::vector<Opponent> opponents;
    BANYAN_RETURN_IF_ERROR(AddReference(cell, opponents));
    const bool chains = compare_.measured || !compare_.chains.empty();
    if (chains && !drafts.chain)
      for (const OneDrafter& drafter : drafts.drafters) {
        if (drafts.nodes > 0 && compare_.same_size)
          opponents.push_back(
              {CellOf(cell, drafter, drafts.nodes), OpponentRole::kSameNodes});
        BANYAN_ASSIGN_OR_RETURN(const std::optional<ChainLength> best,
                                find_(cell, drafter));
        if (best.has_value())
          AddBest(cell, drafter, best->length, OpponentRole::kFastest,
                  opponents);
        else
          Note(absl::StrCat("compare.chains know no length for drafter ",
                            drafter.label, " on target ",
                            FolderName(cell.target.directory)));
      }
    out_.cells[rival].opponents = std::move(opponents);
    return absl::OkStatus();
  }

  // A drafter's best chain and, where the length is predicted, its neighbours.
  void AddBest(const ExperimentCell& cell, const OneDrafter& drafter,
               int length, OpponentRole role,
               std::vector<Opponent>& opponents) {
    opponents.push_back({CellOf(cell, drafter, length), role});
    if (!compare_.measured || !compare_.neighbours) return;
    for (const int other : Neighbours(length))
      opponents.push_back(
          {CellOf(cell, drafter, other), OpponentRole::kNeighbour});
  }

  absl::Status AddReference(const ExperimentCell& cell,
                            std::vector<Opponent>& opponents) {
    if (!compare_.reference.empty()) {
      const std::vector<int>& found = references_[cell.combination];
      if (found.size() != 1)
        return ErrorAt(
            compare_.reference_place,
            absl::StrCat("compare.reference: method ", compare_.reference,
                         " has ", found.size(), " cells beside ", cell.name,
                         ", expected one"));
      opponents.push_back({found.front(), OpponentRole::kReference});
      return absl::OkStatus();
    }
    const OneDrafter* best = nullptr;
    std::optional<ChainLength> length;
    for (const OneDrafter& drafter : drafters_[cell.combination]) {
      BANYAN_ASSIGN_OR_RETURN(std::optional<ChainLength> own,
                              find_(cell, drafter));
      if (!own.has_value() ||
          (length.has_value() && own->speed <= length->speed))
        continue;
      best = &drafter;
      length = std::move(own);
    }
    if (best == nullptr)
      opponents.push_back({cell.baseline, OpponentRole::kReference});
    else
      AddBest(cell, *best, length->length, OpponentRole::kReference, opponents);
    return absl::OkStatus();
  }

  // The number of a chain's cell, made if there is none.
  int CellOf(const ExperimentCell& rival, const OneDrafter& drafter,
             int length) {
    ExperimentCell cell = rival;
    cell.spec = MethodOf(drafter, ChainPolicy(length), ChainVerifier());
    cell.axes.resize(rival.shared_axes);
    cell.opponents.clear();
    const std::string key =
        absl::StrCat(rival.combination, " ", length, " ", drafter.identity);
    const auto [at, is_new] =
        chains_.emplace(key, static_cast<int>(out_.cells.size()));
    if (!is_new) return at->second;
    const std::string method =
        absl::StrCat("chain-", length, " ", drafter.label);
    for (int other = 2;; ++other) {  // another drafter of the same name
      cell.method = other == 2 ? method : absl::StrCat(method, "-", other - 1);
      cell.name = CellName(cell.method, cell.axes);
      const bool taken = std::any_of(
          out_.cells.begin(), out_.cells.end(),
          [&](const ExperimentCell& own) { return own.name == cell.name; });
      if (!taken) break;
    }
    out_.cells.push_back(std::move(cell));
    return at->second;
  }

  void Note(std::string note) {
    if (noted_.insert(note).second) out_.notes.push_back(std::move(note));
  }

  const CompareSpec& compare_;
  ChainFinder find_;
  Experiment& out_;
  std::vector<std::size_t> rivals_;
  std::map<int, std::vector<int>> references_;       // by combination
  std::map<int, std::vector<OneDrafter>> drafters_;  // by combination
  std::map<std::string, int> chains_;
  std::set<std::string> noted_;
};

}  // namespace

absl::Status AddOpponents(Experiment& experiment) {
  // At the nearest temperature that is known.
  const auto find = [&](const ExperimentCell& cell, const OneDrafter& drafter)
      -> absl::StatusOr<std::optional<ChainLength>> {
    std::optional<ChainLength> found;
    for (const ChainLength& length : experiment.compare->chains) {
      if (length.target != FolderName(cell.target.directory) ||
          length.drafter != drafter.label)
        continue;
      const auto off = [&](const ChainLength& other) {
        return std::fabs(other.temperature - TemperatureOf(cell));
      };
      if (!found.has_value() || off(length) < off(*found)) found = length;
    }
    return found;
  };
  return AddOpponents(find, experiment);
}

absl::Status AddOpponents(ChainFinder find, Experiment& experiment) {
  const CompareSpec& compare = *experiment.compare;
  experiment.reference_choice =
      !compare.reference.empty()
          ? "the method that the experiment names (compare.reference)"
      : compare.measured
          ? absl::StrCat(
                "the chain that was predicted to be the fastest, before this "
                "run, from acceptance on other prompts and this machine's "
                "costs",
                compare.neighbours ? "" : "; no neighbouring length was run",
                compare.same_size
                    ? ""
                    : "; nor was a chain of as many nodes as a tree drafts")
      : !compare.chains.empty()
          ? "the chain of a rival's drafter that was fastest on other prompts, "
            "fixed before this run (compare.chains)"
          : "plain decoding, since the experiment names no other";
  return Matcher(find, experiment).Run();
}

}  // namespace banyan
