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
// per pass, steps accepted while top_w(M_p) is a part of top_u(M_q). Ours
// differs in what it need not score again: texts keep their rows while they may
// be asked for (TextReader), so w + u gamma is the most, and a step also counts
// as contained in what an earlier pass drafted. The more elaborate procedure
// that the appendix leaves open, to accept texts that happen to be likelier,
// would not be exact, and is not here.
#include "decode/beam/beam_search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/base/check.h"
#include "core/prob/sampling_rule.h"
#include "tree/tree_policy.h"

namespace banyan {
namespace {

absl::Status CheckOptions(const Model& target, const Model* draft,
                          const BeamOptions& options) {
  const auto [width, length_power, draft_width, gamma] = options;
  const auto wrong = [](const auto&... words) {
    return absl::InvalidArgumentError(absl::StrCat("beam search: ", words...));
  };
  if (width < 1 || width > kMaxDraws)
    return wrong("expected a width from 1 to ", kMaxDraws, ", found ", width);
  if (!(length_power >= 0) || std::isinf(length_power))
    return wrong("expected a power of the length of at least 0, found ",
                 length_power);
  if (draft == nullptr) return absl::OkStatus();
  if (draft_width < width || draft_width > kMaxDraws)
    return wrong("expected a draft width from the width, ", width, ", to ",
                 kMaxDraws, ", found ", draft_width);
  if (gamma < 1 || gamma > kMaxDraws / draft_width)
    return wrong("expected a gamma from 1 to ", kMaxDraws / draft_width,
                 ", for at most ", kMaxDraws, " draft texts, found ", gamma);
  if (draft->vocab_size() != target.vocab_size())
    return wrong("the draft model's vocabulary has ", draft->vocab_size(),
                 " tokens, the target's has ", target.vocab_size());
  return absl::OkStatus();
}

// Holds the prompt's last token and the tokens after the prompt.
using Text = std::vector<TokenId>;

// Scores continuations of one prompt with one model. The row after a text is
// computed once and kept while it may be asked for.
//
// A session has one committed path. Texts that differ are pending rows below
// it, and a later pass adds its rows below those. Keep() commits the beginning
// that all live texts share and drops every other row, if the live texts differ
// in their last tokens only, or if the rows that lead to none of them outnumber
// the model's context. A dropped row that is still needed is scored again.
//
// After a failure the reader can only be destroyed.
class TextReader {
 public:
  // `prompt` has just been started. Its model outlives the reader.
  explicit TextReader(Sequence prompt) : prompt_(std::move(prompt)) {}

  const Model& model() const { return prompt_.target; }
  bool HasRead(const Text& text) const {
    return Committed() + RowsOf(text).size() == text.size();
  }

  // Returns the logits after a text. Requires that the text has been read.
  absl::StatusOr<std::vector<double>> LogitsAfter(const Text& text) const {
    Check(HasRead(text), "what follows a text that was not read");
    const Row& row = *RowsOf(text).back();
    std::vector<double> logits;
    BANYAN_RETURN_IF_ERROR(row.scores->Read(row.scores_row, logits));
    return logits;
  }

  // Scores those of `texts` that have not been read, in one pass, with those of
  // their beginnings that have no row. Adds the rows of the pass to `rows`.
  absl::Status Read(const std::vector<Text>& texts, int& rows) {
    const int first = prompt_.session->pending();
    const int root_position = prompt_.context.prompt_length - 1;
    TokenBatch batch;
    for (const Text& text : texts) {
      int above = TokenBatch::kCommitted;
      for (std::size_t i = Committed(); i < text.size(); ++i) {
        const Row next = {first + batch.size(), i + 1, batch.size()};
        const auto [place, is_new] = rows_.try_emplace({above, text[i]}, next);
        if (is_new)
          batch.Add(text[i], root_position + static_cast<int>(i), above);
        above = place->second.number;
      }
    }
    if (batch.size() == 0) return absl::OkStatus();
    BANYAN_ASSIGN_OR_RETURN(const std::shared_ptr<const Scores> scores,
                            ScoreOne(model(), *prompt_.session, batch));
    for (auto& [place, row] : rows_)
      if (row.number >= first) row.scores = scores;
    rows += batch.size();
    return absl::OkStatus();
  }

  // From here on only `live` texts, which are equally long, and those that
  // begin with one of them are asked for.
  absl::Status Keep(const std::vector<Text>& live) {
    if (live.empty()) return absl::OkStatus();
    const std::size_t size = live.front().size();
    for (auto& [place, row] : rows_)
      if (row.size < size) row.scores = nullptr;
    Text common(live.front().begin(), live.front().end() - 1);
    for (const Text& text : live)
      common.erase(absl::c_mismatch(common, text).first, common.end());
    const auto others = static_cast<std::size_t>(model().context_limit());
    if (common.size() + 1 < size && rows_.size() <= live.size() * size + others)
      return absl::OkStatus();
    std::vector<int> path;
    for (const Row* row : RowsOf(common)) path.push_back(row->number);
    rows_.clear();
    return prompt_.session->Commit(path);
  }

 private:
  // Is the session's pending row of a text of `size` tokens. Its scores are
  // null before the pass, and once no text needs them.
  struct Row {
    int number;
    std::size_t size;
    int scores_row;
    std::shared_ptr<const Scores> scores = nullptr;
  };

  // Returns the number of tokens of each text that are committed.
  std::size_t Committed() const {
    return static_cast<std::size_t>(prompt_.session->length() + 1 -
                                    prompt_.context.prompt_length);
  }
  // Returns the rows of a text's other tokens, up to the first without a row.
  std::vector<const Row*> RowsOf(const Text& text) const {
    std::vector<const Row*> rows;
    int above = TokenBatch::kCommitted;
    for (std::size_t i = Committed(); i < text.size(); ++i) {
      const auto found = rows_.find({above, text[i]});
      if (found == rows_.end()) break;
      rows.push_back(&found->second);
      above = found->second.number;
    }
    return rows;
  }

  Sequence prompt_;
  // The key is the number of the row above, and the token.
  std::map<std::pair<int, TokenId>, Row> rows_;
};

// Returns the texts that have not ended.
std::vector<Text> Live(const std::vector<FoundText>& beam) {
  std::vector<Text> live;
  for (const FoundText& text : beam)
    if (!text.ended) live.push_back(text.tokens);
  return live;
}

struct Search {
  const StopRule& stop;
  const BeamOptions& options;
  int prompt_length;
  TextReader target;
  std::optional<TextReader> draft;
  BeamFindings found;  // Before the end, each of its texts is a Text.

  // Returns the number of tokens of the prompt and of each live text.
  int length() const { return prompt_length + found.steps; }

  // Takes steps until the search is over.
  absl::Status Run(Lap& lap) {
    found.stopped = Stopped();
    while (found.stopped == StopReason::kNone) {
      BANYAN_ASSIGN_OR_RETURN(const std::vector<Text> texts, Draft());
      found.draft_ns += lap();
      BANYAN_RETURN_IF_ERROR(target.Read(texts, found.rows));
      BANYAN_RETURN_IF_ERROR(target.model().Finish());
      found.target_ns += lap();
      ++found.passes;
      do {
        BANYAN_ASSIGN_OR_RETURN(found.beam,
                                NextBeam(found.beam, options.width, target));
        ++found.steps;
        found.stopped = Stopped();
      } while (found.stopped == StopReason::kNone &&
               absl::c_all_of(Live(found.beam), [&](const Text& text) {
                 return target.HasRead(text);
               }));
      BANYAN_RETURN_IF_ERROR(target.Keep(Live(found.beam)));
      if (draft) BANYAN_RETURN_IF_ERROR(draft->Keep(Live(found.beam)));
      found.rest_ns += lap();
    }
    return absl::OkStatus();
  }

  StopReason Stopped() const {
    if (Live(found.beam).empty()) return StopReason::kEndOfText;
    if (found.steps >= stop.max_new_tokens) return StopReason::kLength;
    // A live text's last token must still be fed to go on.
    return length() > target.model().context_limit() ? StopReason::kContext
                                                     : StopReason::kNone;
  }

  // Returns the texts for the target to read: the beam's, and the draft's. The
  // target is fed all drafted tokens, and the draft model all but the last one,
  // so their contexts limit the draft.
  absl::StatusOr<std::vector<Text>> Draft() {
    std::vector<Text> texts = Live(found.beam);
    if (!draft) return texts;
    const int levels =
        std::min({options.gamma, stop.max_new_tokens - found.steps - 1,
                  target.model().context_limit() - length(),
                  draft->model().context_limit() - length() + 1});
    std::vector<FoundText> beam = found.beam;
    for (int level = 0; level < levels; ++level) {
      BANYAN_RETURN_IF_ERROR(draft->Read(Live(beam), found.draft_rows));
      BANYAN_ASSIGN_OR_RETURN(beam,
                              NextBeam(beam, options.draft_width, *draft));
      for (Text& text : Live(beam)) texts.push_back(std::move(text));
    }
    return texts;
  }

  // Returns the beam one token further: of every text that has not ended with
  // each of the tokens that may follow it, and of every ended text as it is,
  // the `width` of highest value. Ties go to the continuation of the earlier
  // text of the beam, then to the likelier token, then to the lower id. No more
  // than the likeliest `width` tokens of each text can be kept. Requires that
  // `reader` has read the live texts.
  absl::StatusOr<std::vector<FoundText>> NextBeam(
      const std::vector<FoundText>& beam, int width,
      const TextReader& reader) const {
    std::vector<FoundText> next;
    for (const FoundText& text : beam) {
      if (text.ended) {
        next.push_back(text);
      } else {
        BANYAN_ASSIGN_OR_RETURN(const std::vector<double> logits,
                                reader.LogitsAfter(text.tokens));
        BANYAN_ASSIGN_OR_RETURN(const std::vector<TokenLogit> best,
                                BestLogits(logits, width));
        if (best.empty()) return NoTokenLeft();
        const double norm = LogSumExp(logits);
        const double power = std::pow(static_cast<double>(text.tokens.size()),
                                      options.length_power);
        for (const TokenLogit& one : best) {
          FoundText& longer = next.emplace_back(text);
          longer.tokens.push_back(one.token);
          longer.log_probability += one.logit - norm;
          longer.value = longer.log_probability / power;
          longer.ended = absl::c_linear_search(stop.end_of_text, one.token);
        }
      }
      absl::c_stable_sort(next, [](const FoundText& a, const FoundText& b) {
        return a.value > b.value;
      });
      next.resize(std::min(next.size(), static_cast<std::size_t>(width)));
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
  if (draft != nullptr && search.length() <= draft->context_limit()) {
    BANYAN_ASSIGN_OR_RETURN(Sequence drafted,
                            Sequence::Start(*draft, start, {}));
    search.draft.emplace(std::move(drafted));
    BANYAN_RETURN_IF_ERROR(draft->Finish());
  }
  BANYAN_RETURN_IF_ERROR(target.Finish());
  search.found.prefill_ns = lap();
  search.found.beam = {{.tokens = {prompt.back()}}};
  BANYAN_RETURN_IF_ERROR(search.Run(lap));
  for (FoundText& text : search.found.beam)
    text.tokens.erase(text.tokens.begin());
  return std::move(search.found);
}

}  // namespace banyan
