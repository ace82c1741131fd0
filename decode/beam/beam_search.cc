// Claim. With a draft model the texts, their order and their log-probabilities
// are bit-identical to those of plain beam search of the same width.
//
// Rule. The draft model carries the beam on for gamma steps, with a width u of
// at least the beam's w, from the log-probabilities that the target gave. All
// texts it held on the way, with the beam itself, are scored by the target in
// one pass, as a tree: no text that begins as another is scored twice. Then the
// beam takes steps (NextBeam) by the target's rows alone, as long as every live
// text of it has a row; it always can take one, so a pass gives from 1 to
// gamma + 1 tokens. So a step is accepted while top_w of the target is within
// top_u of the draft.
//
// Why the texts are kept. A step is a function of the beam and of the target's
// rows after its live texts, and never of the draft. A row depends on its text
// alone and is bit-identical in any pass (Model::Score). So the beams, step by
// step, are those of plain search, by induction. Drafting decides only which
// rows are there already, that is, how many steps follow a pass.
//
// Cases. An end of text ends its text. Such a text keeps its place by its
// value, needs no rows, and nothing is drafted after it. Without a draft model,
// where the draft model's context is full, or at the last token, nothing is
// drafted, and a pass is a step of plain search.
//
// Source: Leviathan et al. (2023), appendix A.4: w + u gamma runs of the target
// a pass, steps accepted while top_w(M_p) is a part of top_u(M_q). Ours differs
// in what it need not score again: texts keep their rows while they may be
// asked for (text_reader.h), so w + u gamma is the most, and a step also counts
// as contained in what an earlier pass drafted. The more elaborate procedure
// that the appendix leaves open, to accept texts that happen to be likelier,
// would not be exact, and is not here.
#include "decode/beam/beam_search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/clock.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/prob/logits.h"
#include "decode/beam/text_reader.h"
#include "decode/lap.h"
#include "decode/sequence.h"
#include "tree/tree_policy.h"

namespace banyan {
namespace {

using Text = TextReader::Text;

absl::Status CheckOptions(const Model& target, const Model* draft,
                          const BeamOptions& options) {
  const auto [width, length_power, draft_width, gamma] = options;
  std::string wrong;
  if (width < 1 || width > kMaxDraws)
    wrong = absl::StrCat("expected a width from 1 to ", kMaxDraws, ", found ",
                         width);
  else if (!(length_power >= 0) || std::isinf(length_power))
    wrong = absl::StrCat("expected a power of the length of at least 0, found ",
                         length_power);
  else if (draft == nullptr)
    return absl::OkStatus();
  else if (draft_width < width)
    wrong = absl::StrCat("expected a draft beam at least as wide as the beam, ",
                         width, ", found ", draft_width);
  else if (gamma < 1)
    wrong = absl::StrCat("expected a gamma of at least 1, found ", gamma);
  else if (draft_width > kMaxDraws / gamma)
    wrong = absl::StrCat("a draft beam of ", draft_width, " for ", gamma,
                         " steps is more than ", kMaxDraws, " texts a pass");
  else if (draft->vocab_size() != target.vocab_size())
    wrong =
        absl::StrCat("the draft model's vocabulary has ", draft->vocab_size(),
                     " tokens, the target's has ", target.vocab_size());
  else
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("beam search: ", wrong));
}

// The texts that have not ended.
std::vector<Text> Live(const std::vector<FoundText>& beam) {
  std::vector<Text> live;
  for (const FoundText& text : beam)
    if (!text.ended) live.push_back(text.tokens);
  return live;
}

struct Search {
  // What a text may become: with `token`, or as it is.
  struct Candidate {
    const FoundText* from;
    std::optional<TokenId> token;
    double log_probability;
    double value;
  };

  const StopRule& stop;
  const BeamOptions& options;
  int length;  // tokens of the prompt and of each live text
  TextReader target;
  std::optional<TextReader> draft = {};
  BeamFindings found = {.beam = {FoundText()}};  // the prompt alone
  int left = stop.max_new_tokens;                // steps to the length limit

  // Takes steps until the search is over.
  absl::Status Run(Lap& lap) {
    found.stopped = Stopped();
    while (found.stopped == StopReason::kNone) {
      BeamPass pass;
      BANYAN_ASSIGN_OR_RETURN(const std::vector<Text> texts, Draft(pass));
      found.draft_ns += lap();
      BANYAN_ASSIGN_OR_RETURN(pass.rows, target.Read(texts));
      BANYAN_RETURN_IF_ERROR(target.model().Finish());
      found.target_ns += lap();
      do {
        BANYAN_ASSIGN_OR_RETURN(found.beam,
                                NextBeam(found.beam, options.width, target));
        ++length;
        --left;
        ++pass.steps;
        found.stopped = Stopped();
      } while (found.stopped == StopReason::kNone &&
               absl::c_all_of(Live(found.beam), [&](const Text& text) {
                 return target.has_read(text);
               }));
      BANYAN_RETURN_IF_ERROR(target.Keep(Live(found.beam)));
      if (draft) BANYAN_RETURN_IF_ERROR(draft->Keep(Live(found.beam)));
      found.passes.push_back(pass);
      found.rest_ns += lap();
    }
    return absl::OkStatus();
  }

  StopReason Stopped() const {
    if (Live(found.beam).empty()) return StopReason::kEndOfText;
    if (left <= 0) return StopReason::kLength;
    // A live text's last token must still be fed to go on.
    return length > target.model().context_limit() ? StopReason::kContext
                                                   : StopReason::kNone;
  }

  // The texts that the target is to have read: the beam's, and those drafted.
  // What is drafted is fed to the target, and all but the last token of it to
  // the draft model, so their contexts limit it.
  absl::StatusOr<std::vector<Text>> Draft(BeamPass& pass) {
    std::vector<Text> texts = Live(found.beam);
    if (!draft) return texts;
    const int levels = std::min({options.gamma, left - 1,
                                 target.model().context_limit() - length,
                                 draft->model().context_limit() - length + 1});
    std::vector<FoundText> beam = found.beam;
    for (int level = 0; level < levels; ++level) {
      BANYAN_ASSIGN_OR_RETURN(const int rows, draft->Read(Live(beam)));
      pass.draft_rows += rows;
      pass.draft_passes += rows > 0 ? 1 : 0;
      BANYAN_ASSIGN_OR_RETURN(beam,
                              NextBeam(beam, options.draft_width, *draft));
      for (Text& text : Live(beam)) texts.push_back(std::move(text));
    }
    return texts;
  }

  // The beam one token further: of every text that has not ended with each of
  // the tokens that may follow it, and of every ended text as it is, the
  // `width` that count most. Ties go to what continues the earlier text of the
  // beam, then to the likelier token, then to the lower id. No more than the
  // likeliest `width` tokens of each can be kept. Requires that `reader` has
  // read the live texts.
  absl::StatusOr<std::vector<FoundText>> NextBeam(
      const std::vector<FoundText>& beam, int width,
      const TextReader& reader) const {
    std::vector<Candidate> candidates;  // in the order in which ties are broken
    for (const FoundText& text : beam) {
      if (text.ended) {
        candidates.push_back({&text, {}, text.log_probability, text.value});
        continue;
      }
      BANYAN_ASSIGN_OR_RETURN(const std::vector<double> logits,
                              reader.LogitsAfter(text.tokens));
      BANYAN_ASSIGN_OR_RETURN(const std::vector<TokenLogit> best,
                              BestLogits(logits, width));
      if (best.empty()) return NoTokenLeft();
      const double norm = LogSumExp(logits);
      const double power = std::pow(static_cast<double>(text.tokens.size() + 1),
                                    options.length_power);
      for (const TokenLogit& one : best) {
        const double sum = text.log_probability + (one.logit - norm);
        candidates.push_back({&text, one.token, sum, sum / power});
      }
    }
    absl::c_stable_sort(candidates, [](const Candidate& a, const Candidate& b) {
      return a.value > b.value;
    });
    candidates.resize(
        std::min(candidates.size(), static_cast<std::size_t>(width)));
    std::vector<FoundText> next;
    for (const auto& [from, token, log_probability, value] : candidates) {
      FoundText& text = next.emplace_back(*from);
      if (!token.has_value()) continue;
      text.tokens.push_back(*token);
      text.log_probability = log_probability;
      text.value = value;
      text.ended = absl::c_linear_search(stop.end_of_text, *token);
    }
    return next;
  }
};

}  // namespace

absl::StatusOr<BeamFindings> BeamSearch(const Model& target, const Model* draft,
                                        absl::Span<const TokenId> prompt,
                                        const StopRule& stop,
                                        const BeamOptions& options,
                                        const Clock& clock) {
  BANYAN_RETURN_IF_ERROR(CheckOptions(target, draft, options));
  const Prompt start = {.tokens = {prompt.begin(), prompt.end()}};
  Lap lap(clock);
  BANYAN_ASSIGN_OR_RETURN(Sequence read, Sequence::Start(target, start, {}));
  Search search = {stop, options, static_cast<int>(prompt.size()),
                   TextReader(std::move(read))};
  if (draft != nullptr && search.length <= draft->context_limit()) {
    BANYAN_ASSIGN_OR_RETURN(Sequence drafted,
                            Sequence::Start(*draft, start, {}));
    search.draft.emplace(std::move(drafted));
    BANYAN_RETURN_IF_ERROR(draft->Finish());
  }
  BANYAN_RETURN_IF_ERROR(target.Finish());
  search.found.prefill_ns = lap();
  BANYAN_RETURN_IF_ERROR(search.Run(lap));
  return std::move(search.found);
}

}  // namespace banyan
