#include "tests/decode/beam/beam_oracle.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>

#include "core/prob/sampling_rule.h"
#include "tests/support/shared_models.h"

namespace banyan {
namespace {

struct Candidate {
  FoundText text;
  std::size_t place = 0;
  double logit = 0;
  TokenId token = 0;

  auto Order() const { return std::tuple(-text.value, place, -logit, token); }
};

// All that the texts of the beam may become.
std::vector<Candidate> CandidatesOf(const Model& model,
                                    const std::vector<TokenId>& prompt,
                                    const StopRule& stop,
                                    const BeamOptions& options,
                                    const std::vector<FoundText>& beam) {
  std::vector<Candidate> candidates;
  for (std::size_t place = 0; place < beam.size(); ++place) {
    if (beam[place].ended) {
      candidates.push_back({beam[place], place});
      continue;
    }
    std::vector<TokenId> text = prompt;
    text.insert(text.end(), beam[place].tokens.begin(),
                beam[place].tokens.end());
    const std::vector<double> logits = LogitsAfter(model, text);
    for (TokenId token = 0; token < model.vocab_size(); ++token) {
      const double logit = logits[static_cast<std::size_t>(token)];
      if (std::isinf(logit)) continue;
      Candidate one = {beam[place], place, logit, token};
      one.text.tokens.push_back(token);
      one.text.log_probability += logit - LogSumExp(logits);
      one.text.value =
          options.length_power == 0
              ? one.text.log_probability
              : one.text.log_probability /
                    std::pow(static_cast<double>(one.text.tokens.size()),
                             options.length_power);
      one.text.ended = std::count(stop.end_of_text.begin(),
                                  stop.end_of_text.end(), token) > 0;
      candidates.push_back(one);
    }
  }
  return candidates;
}

}  // namespace

OracleBeam SearchByTheBook(const Model& model,
                           const std::vector<TokenId>& prompt,
                           const StopRule& stop, const BeamOptions& options) {
  OracleBeam found = {.beam = {FoundText()}};
  while (true) {
    if (std::all_of(found.beam.begin(), found.beam.end(),
                    [](const FoundText& text) { return text.ended; }))
      found.stopped = StopReason::kEndOfText;
    else if (found.steps == stop.max_new_tokens)
      found.stopped = StopReason::kLength;
    else if (static_cast<int>(prompt.size()) + found.steps >
             model.context_limit())
      found.stopped = StopReason::kContext;
    if (found.stopped != StopReason::kNone) return found;
    for (const FoundText& text : found.beam) found.rows += text.ended ? 0 : 1;
    std::vector<Candidate> candidates =
        CandidatesOf(model, prompt, stop, options, found.beam);
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate& a, const Candidate& b) {
                return a.Order() < b.Order();
              });
    candidates.resize(
        std::min(candidates.size(), static_cast<std::size_t>(options.width)));
    found.beam.clear();
    for (const Candidate& one : candidates) found.beam.push_back(one.text);
    ++found.steps;
  }
}

}  // namespace banyan
