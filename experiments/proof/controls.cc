#include "experiments/proof/controls.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "core/base/messages.h"
#include "core/base/number_rows.h"

namespace banyan {

namespace {

class StaleSource : public RandomSource {
 public:
  explicit StaleSource(RandomSource& honest) : honest_(honest) {}

  bool Accept(double probability, const ChoiceKey& key) override {
    const auto known = choices_.find(First(key));
    if (known != choices_.end()) return known->second == 1;
    const bool accepted = honest_.Accept(probability, key);
    choices_[First(key)] = accepted ? 1 : 0;
    return accepted;
  }

  int Draw(const Weights& weights, const ChoiceKey& key) override {
    const auto known = choices_.find(First(key));
    if (known != choices_.end() &&
        static_cast<std::size_t>(known->second) < weights.values.size() &&
        weights.values[static_cast<std::size_t>(known->second)] > 0)
      return known->second;
    const int index = honest_.Draw(weights, key);
    choices_[First(key)] = index;
    return index;
  }

 private:
  static ChoiceKey First(ChoiceKey key) {
    key.round = 0;
    return key;
  }

  RandomSource& honest_;
  std::map<ChoiceKey, int> choices_;
};

class OneCoin : public RandomSource {
 public:
  explicit OneCoin(RandomSource& honest) : honest_(honest) {}

  // A coin that was at least r before is below p with (p - r) / (1 - r).
  bool Accept(double probability, const ChoiceKey& key) override {
    ChoiceKey node = key;
    node.draw = 0;
    double& refused = refused_[node];
    const double left = (probability - refused) / (1 - refused);
    const bool accepted = left > 0 && honest_.Accept(left, key);
    if (!accepted) refused = std::max(refused, probability);
    return accepted;
  }

  int Draw(const Weights& weights, const ChoiceKey& key) override {
    return honest_.Draw(weights, key);
  }

 private:
  RandomSource& honest_;
  std::map<ChoiceKey, double> refused_;
};

}  // namespace

std::unique_ptr<RandomSource> SameEveryRound(RandomSource& honest) {
  return std::make_unique<StaleSource>(honest);
}

std::unique_ptr<RandomSource> OneCoinANode(RandomSource& honest) {
  return std::make_unique<OneCoin>(honest);
}

namespace {

using Owned = std::unique_ptr<Verifier>;

// A tampering as a plain function of the right verifier.
template <Tampering kTampering>
Owned With(Owned right, const SamplingRule& /*rule*/) {
  return Tampered(std::move(right), kTampering);
}

template <Owned (*kWrong)()>
Owned Instead(Owned /*right*/, const SamplingRule& /*rule*/) {
  return kWrong();
}

Owned WithoutDemands(Owned right, const SamplingRule& /*rule*/) {
  return Undemanding(std::move(right));
}

}  // namespace

absl::Span<const ControlRow> ControlCatalogue() {
  static const auto& rows = *new std::vector<ControlRow>{
      {"merged_duplicates", "Repeated draws of a token are judged once.",
       With<MergeRepeats>},
      {"grouped_duplicates",
       "Repeated draws are judged one after another, at the first of them.",
       With<GroupRepeats>},
      {"last_proposal",
       "A token of two drafters keeps the last one's distribution only.",
       With<KeepLastProposal>},
      {"sorted_children", "Draws are sorted by draft probability.",
       With<SortByProbability>},
      {"token_order", "Draws are visited in the order of token ids.",
       With<SortByToken>},
      {"pruned_after_drawing", "Unlikely sampled tokens vanish unrecorded.",
       With<PruneUnlikely>},
      {"draw_used_twice", "One draw is judged as if it were two.",
       With<UseTwice>},
      {"law_ignored", "Ranked tokens are judged as if drawn from q.",
       With<IgnoreLaw>},
      {"reversed_time", "Draws are listed out of the order of time.",
       With<ReverseTime>},
      {"budget_over_trunks",
       "A node budget cuts the merged tree after drawing.", With<CutToOneNode>},
      {"wrong_proposal",
       "The recorded q is flatter than the distribution drawn from.",
       With<FlattenProposals>},
      {"demands_dropped",
       "A verifier takes draws it must refuse: value-dependent counts under "
       "k_seq, shared draws under traversal, draws without replacement in "
       "random order.",
       WithoutDemands},
      {"residual_not_normalised", "After a refusal cur is pos(cur - q).",
       Instead<ResidualNotNormalised>},
      {"residual_is_target", "After a refusal cur is p again.",
       Instead<ResidualIsTarget>},
      {"match_draws_again", "After a miss a second token is drawn from p.",
       Instead<DrawsAgainAfterMiss>},
      {"block_stops_early",
       "Block verification stops at its first failed coin.",
       Instead<StopsAtFirstFailure>},
      {"traversal_draft_mass",
       "Traversal divides by the draft mass that remains.",
       Instead<DividesByDraftMass>},
      {"traversal_erases", "Traversal forgets a refused node's other draws.",
       Instead<ErasesRefusedDraws>},
      {.name = "one_coin_a_node",
       .sentence = "All draws at a node are judged by one coin.",
       .chance = OneCoinANode},
      {.name = "stale_rounds",
       .sentence = "Every round reuses the randomness of the first.",
       .chance = SameEveryRound,
       .rounds = 2},
      {"bonus_untempered",
       "The token after a path accepted whole is drawn at temperature 1.",
       UntemperedBonus},
  };
  return rows;
}

absl::StatusOr<const ControlRow*> FindControl(const Params& name) {
  std::string text;
  BANYAN_RETURN_IF_ERROR(Convert(name, text));
  std::vector<absl::string_view> known;
  for (const ControlRow& row : ControlCatalogue()) {
    if (row.name == text) return &row;
    known.push_back(row.name);
  }
  return name.Error(UnknownName("control", text, known));
}

}  // namespace banyan
