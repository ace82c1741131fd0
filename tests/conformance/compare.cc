#include "tests/conformance/compare.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/check.h"
#include "core/base/token.h"
#include "core/random/enumerating_source.h"
#include "decode/decoder.h"
#include "decode/sequence.h"
#include "tree/derive.h"

namespace banyan {
namespace {

constexpr std::int64_t kMaxLeaves = 200'000;

Decoder BuildOrDie(const Pairing& pairing) {
  absl::StatusOr<Decoder> decoder = Build(pairing);
  Check(decoder.ok(), decoder.status().message());
  return *std::move(decoder);
}

// Pr[s in the tree] for every string. Verification is enumerated along with
// drafting; it sums out.
std::map<std::vector<TokenId>, double> InTree(const Pairing& pairing) {
  Decoder decoder = BuildOrDie(pairing);
  std::map<std::vector<TokenId>, double> result;
  EnumeratingSource source(kMaxLeaves);
  do {
    absl::StatusOr<Sequence> sequence = decoder.Begin(
        {.tokens = {pairing.target->begin()}}, {.max_new_tokens = 100});
    Check(sequence.ok(), sequence.status().message());
    absl::StatusOr<RoundRecord> record = decoder.Step(*sequence, source);
    Check(record.ok(), record.status().message());
    for (int node = 1; node < record->tree.size(); ++node)
      result[TokensTo(record->tree, node)] += source.probability();
  } while (source.Advance());
  Check(!source.exhausted(), "too many leaves");
  return result;
}

double Probability(const StringLaw& law, const std::vector<TokenId>& prefix) {
  double sum = 0;
  for (const auto& [text, probability] : law)
    if (std::equal(prefix.begin(), prefix.end(), text.begin()))
      sum += probability;
  return sum;
}

}  // namespace

ExactLaw OneRound(const Pairing& pairing, int horizon) {
  Decoder decoder = BuildOrDie(pairing);
  absl::StatusOr<ExactLaw> law = ComputeExactLaw(
      *pairing.target, decoder,
      {.horizon = horizon, .rounds = 1, .max_branches = kMaxLeaves});
  Check(law.ok(), law.status().message());
  return *std::move(law);
}

Pairing One(std::shared_ptr<TableModel> target, std::string verifier,
            std::string policy, std::shared_ptr<TableModel> drafter,
            DrawKind draw_kind) {
  return {.target = std::move(target),
          .verifier = std::move(verifier),
          .trunks = {{std::move(policy), std::move(drafter), draw_kind}}};
}

double UpperBound(const Pairing& pairing) {
  const std::map<std::vector<TokenId>, double> in_tree = InTree(pairing);
  std::size_t depth = 1;
  for (const auto& [text, probability] : in_tree)
    depth = std::max(depth, text.size());
  const ExactLaw law = OneRound(pairing, static_cast<int>(depth));
  double bound = 1;
  for (const auto& [text, probability] : in_tree)
    bound += std::min(Probability(law.target_law, text), probability);
  return bound;
}

}  // namespace banyan
