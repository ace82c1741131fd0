#include "decode/beam/beam.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/prob/logits.h"
#include "decode/beam/text_tree.h"

namespace banyan {
namespace {

// What a text may become: with `token`, or as it is.
struct Candidate {
  std::size_t from;  // its place in the beam
  BeamText text;
  TokenId token;
  double value;
};

}  // namespace

absl::StatusOr<std::vector<NextToken>> LikeliestAt(const Scores& scores,
                                                   int row, int k) {
  std::vector<double> logits;
  BANYAN_RETURN_IF_ERROR(scores.Read(row, logits));
  BANYAN_ASSIGN_OR_RETURN(const std::vector<TokenLogit> best,
                          BestLogits(logits, k));
  if (best.empty()) return NoTokenLeft();
  const double norm = LogSumExp(logits);
  std::vector<NextToken> next;
  for (const TokenLogit& one : best)
    next.push_back({one.token, one.logit - norm});
  return next;
}

double BeamRule::Value(const BeamText& text) const {
  return length_power == 0
             ? text.log_probability
             : text.log_probability / std::pow(text.length, length_power);
}

std::vector<BeamText> NextBeam(absl::Span<const BeamText> beam,
                               absl::Span<const std::vector<NextToken>> next,
                               const BeamRule& rule, TextTree& texts) {
  // In the order in which ties are broken.
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < beam.size(); ++i) {
    const BeamText& text = beam[i];
    if (text.ended) {
      candidates.push_back({i, text, 0, rule.Value(text)});
      continue;
    }
    for (const NextToken& one : next[i]) {
      const BeamText longer = {
          .node = text.node,
          .length = text.length + 1,
          .log_probability = text.log_probability + one.log_probability,
          .ended = absl::c_linear_search(rule.end_of_text, one.token)};
      candidates.push_back({i, longer, one.token, rule.Value(longer)});
    }
  }
  std::stable_sort(
      candidates.begin(), candidates.end(),
      [](const Candidate& a, const Candidate& b) { return a.value > b.value; });
  const auto kept =
      std::min(candidates.size(), static_cast<std::size_t>(rule.width));
  candidates.resize(kept);
  std::vector<BeamText> result;
  for (Candidate& one : candidates) {
    if (!beam[one.from].ended)
      one.text.node = texts.Child(one.text.node, one.token);
    result.push_back(one.text);
  }
  return result;
}

std::vector<int> LiveNodes(absl::Span<const BeamText> beam) {
  std::vector<int> nodes;
  for (const BeamText& text : beam)
    if (!text.ended) nodes.push_back(text.node);
  return nodes;
}

}  // namespace banyan
