#include "core/random/enumerating_source.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"

namespace banyan {
namespace {

constexpr char kMoreThanItsChoices[] =
    "a run depends on more than its choices: two runs of equal draws differ, "
    "as "
    "if a part changed while it proposes or verifies";

}  // namespace

bool EnumeratingSource::Accept(double probability, const ChoiceKey& key) {
  NoteKey(key);
  return Take({.outcomes = {1, 0},
               .probabilities = {probability, 1 - probability}}) == 1;
}

int EnumeratingSource::Draw(const Weights& weights, const ChoiceKey& key) {
  NoteKey(key);
  Choice choice;
  double total = 0;
  for (int i = 0; i < static_cast<int>(weights.values.size()); ++i) {
    const auto& out = weights.left_out;
    if (std::find(out.begin(), out.end(), i) != out.end()) continue;
    Check(weights.values[i] >= 0, "a weight is negative or NaN");
    if (weights.values[i] == 0) continue;
    choice.outcomes.push_back(i);
    choice.probabilities.push_back(weights.values[i]);
    total += weights.values[i];
  }
  Check(total > 0 && std::isfinite(total), "draw from a list without weight");
  for (double& probability : choice.probabilities) probability /= total;
  return Take(choice);
}

double EnumeratingSource::probability() const {
  double product = 1;
  for (std::size_t i = 0; i < depth_; ++i)
    product *= path_[i].probabilities[path_[i].taken];
  return product;
}

bool EnumeratingSource::Advance() {
  Check(depth_ == path_.size(), kMoreThanItsChoices);
  depth_ = 0;
  seen_.clear();
  while (!path_.empty() &&
         path_.back().taken + 1 == path_.back().outcomes.size())
    path_.pop_back();
  if (path_.empty()) return false;
  if (runs_ == limit_) {
    exhausted_ = true;
    return false;
  }
  ++path_.back().taken;
  ++runs_;
  return true;
}

void EnumeratingSource::NoteKey(const ChoiceKey& key) {
  if (keys_ == Keys::kMayRepeat) return;
  Check(seen_.insert(key).second, "two choices of one run share a key");
}

int EnumeratingSource::Take(const Choice& fresh) {
  if (depth_ == path_.size()) path_.push_back(fresh);
  const Choice& choice = path_[depth_++];
  Check(choice.outcomes == fresh.outcomes &&
            choice.probabilities == fresh.probabilities,
        kMoreThanItsChoices);
  return choice.outcomes[choice.taken];
}

}  // namespace banyan
