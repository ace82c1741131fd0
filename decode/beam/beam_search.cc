// Claim. With a draft model the texts, their order and their log-probabilities
// are bit-identical to those of plain beam search of the same width.
//
// Rule. The draft model carries the beam on for gamma steps, with a width u of
// at least the beam's w, from the log-probabilities that the target gave. All
// texts it held on the way, with the beam itself, are scored by the target in
// one pass, as a tree: no text that begins as another is scored twice. Then the
// beam takes steps (beam.h) by the target's rows alone, as long as every live
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
// value, needs no rows, and nothing is drafted after it. The search is over
// when all texts of the beam have ended. Without a draft model, where the draft
// model's context is full, or at the last token, nothing is drafted, and a pass
// is a step of plain search. The tree never goes deeper than the length limit,
// the target's context or the draft's.
//
// Source: Leviathan et al. (2023), appendix A.4: w + u gamma runs of the target
// a pass, steps accepted while top_w(M_p) is a part of top_u(M_q). Ours differs
// in what it need not score again: texts keep their rows while they may be
// asked for (text_tree.h), so w + u gamma is the most, and a step also counts
// as contained in what an earlier pass drafted. The more elaborate procedure
// that the appendix leaves open, to accept texts that happen to be likelier,
// would not be exact, and is not here.
#include "decode/beam/beam_search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
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
#include "decode/beam/beam.h"
#include "decode/beam/text_tree.h"
#include "decode/lap.h"
#include "decode/sequence.h"
#include "tree/tree_policy.h"

namespace banyan {
namespace {

absl::Status CheckOptions(const Model& target, const Model* draft,
                          const BeamOptions& options) {
  if (options.width < 1 || options.width > kMaxDraws)
    return absl::InvalidArgumentError(
        absl::StrCat("beam search: expected a width from 1 to ", kMaxDraws,
                     ", found ", options.width));
  if (!(options.length_power >= 0) || std::isinf(options.length_power))
    return absl::InvalidArgumentError(
        absl::StrCat("beam search: expected a power of the length of at least "
                     "0, found ",
                     options.length_power));
  if (draft == nullptr) return absl::OkStatus();
  if (options.draft_width < options.width)
    return absl::InvalidArgumentError(absl::StrCat(
        "beam search: expected a draft beam at least as wide as the beam, ",
        options.width, ", found ", options.draft_width));
  if (options.gamma < 1)
    return absl::InvalidArgumentError(absl::StrCat(
        "beam search: expected a gamma of at least 1, found ", options.gamma));
  if (options.draft_width > kMaxDraws / options.gamma)
    return absl::InvalidArgumentError(absl::StrCat(
        "beam search: a draft beam of ", options.draft_width, " for ",
        options.gamma, " steps is more than ", kMaxDraws, " texts a pass"));
  if (draft->vocab_size() != target.vocab_size())
    return absl::InvalidArgumentError(absl::StrCat(
        "beam search: the draft model's vocabulary has ", draft->vocab_size(),
        " tokens, the target's has ", target.vocab_size()));
  return absl::OkStatus();
}

// The step of a beam whose live texts have been read.
absl::StatusOr<std::vector<BeamText>> StepBy(const TextReader& reader,
                                             absl::Span<const BeamText> beam,
                                             const BeamRule& rule,
                                             TextTree& texts) {
  std::vector<std::vector<NextToken>> next(beam.size());
  for (std::size_t i = 0; i < beam.size(); ++i) {
    if (beam[i].ended) continue;
    const auto [scores, row] = reader.RowOf(beam[i].node);
    BANYAN_ASSIGN_OR_RETURN(next[i], LikeliestAt(*scores, row, rule.width));
  }
  return NextBeam(beam, next, rule, texts);
}

class Search {
 public:
  Search(TextReader target, std::optional<TextReader> draft, TextTree& texts,
         int prompt_length, const StopRule& stop, const BeamOptions& options)
      : target_(std::move(target)),
        draft_(std::move(draft)),
        texts_(texts),
        prompt_length_(prompt_length),
        stop_(stop),
        rule_{options.width, options.length_power, stop.end_of_text},
        draft_rule_{options.draft_width, options.length_power,
                    stop.end_of_text},
        gamma_(options.gamma) {}

  absl::Status Run(Lap& lap, BeamFindings& out) {
    StopReason stopped = Stopped();
    while (stopped == StopReason::kNone) {
      BeamPass pass;
      BANYAN_ASSIGN_OR_RETURN(std::vector<int> nodes, Draft(pass));
      out.draft_ns += lap();
      BANYAN_ASSIGN_OR_RETURN(pass.rows, target_.Read(nodes));
      BANYAN_RETURN_IF_ERROR(target_.model().Finish());
      out.target_ns += lap();
      do {
        BANYAN_ASSIGN_OR_RETURN(beam_, StepBy(target_, beam_, rule_, texts_));
        ++steps_;
        ++pass.steps;
        stopped = Stopped();
      } while (stopped == StopReason::kNone && AllRead());
      const std::vector<int> live = LiveNodes(beam_);
      BANYAN_RETURN_IF_ERROR(target_.Keep(live));
      if (draft_) BANYAN_RETURN_IF_ERROR(draft_->Keep(live));
      out.passes.push_back(pass);
      out.rest_ns += lap();
    }
    out.stopped = stopped;
    for (const BeamText& text : beam_)
      out.beam.push_back({texts_.TokensTo(text.node), text.log_probability,
                          steps_ == 0 ? 0 : rule_.Value(text), text.ended});
    return absl::OkStatus();
  }

 private:
  // Of the texts that have not ended, which all have it.
  int length() const { return prompt_length_ + steps_; }

  StopReason Stopped() const {
    if (LiveNodes(beam_).empty()) return StopReason::kEndOfText;
    if (steps_ >= stop_.max_new_tokens) return StopReason::kLength;
    // A live text's last token must still be fed to go on.
    return length() > target_.model().context_limit() ? StopReason::kContext
                                                      : StopReason::kNone;
  }

  bool AllRead() const {
    return absl::c_all_of(LiveNodes(beam_),
                          [&](int node) { return target_.has_read(node); });
  }

  // How many steps may be drafted: what is drafted is fed to the target, and
  // all but the last of it to the draft model.
  int Levels() const {
    if (!draft_) return 0;
    return std::min({gamma_, stop_.max_new_tokens - steps_ - 1,
                     target_.model().context_limit() - length(),
                     draft_->model().context_limit() - length() + 1});
  }

  // The nodes that the target is to have read: the beam's, and those drafted.
  absl::StatusOr<std::vector<int>> Draft(BeamPass& pass) {
    std::vector<int> nodes = LiveNodes(beam_);
    std::vector<BeamText> drafted = beam_;
    for (int level = Levels(); level > 0; --level) {
      BANYAN_ASSIGN_OR_RETURN(const int rows, draft_->Read(LiveNodes(drafted)));
      pass.draft_rows += rows;
      pass.draft_passes += rows > 0 ? 1 : 0;
      BANYAN_ASSIGN_OR_RETURN(drafted,
                              StepBy(*draft_, drafted, draft_rule_, texts_));
      const std::vector<int> live = LiveNodes(drafted);
      if (live.empty()) break;
      nodes.insert(nodes.end(), live.begin(), live.end());
    }
    return nodes;
  }

  TextReader target_;
  std::optional<TextReader> draft_;
  TextTree& texts_;
  int prompt_length_;
  const StopRule& stop_;
  BeamRule rule_;
  BeamRule draft_rule_;
  int gamma_;
  std::vector<BeamText> beam_ = {BeamText()};  // the prompt alone
  int steps_ = 0;
};

template <typename Count>
int Sum(const std::vector<BeamPass>& passes, Count BeamPass::*count) {
  int sum = 0;
  for (const BeamPass& pass : passes) sum += pass.*count;
  return sum;
}

}  // namespace

int BeamFindings::Steps() const { return Sum(passes, &BeamPass::steps); }
int BeamFindings::Rows() const { return Sum(passes, &BeamPass::rows); }
int BeamFindings::DraftRows() const {
  return Sum(passes, &BeamPass::draft_rows);
}
int BeamFindings::DraftPasses() const {
  return Sum(passes, &BeamPass::draft_passes);
}

absl::StatusOr<BeamFindings> BeamSearch(const Model& target, const Model* draft,
                                        absl::Span<const TokenId> prompt,
                                        const StopRule& stop,
                                        const BeamOptions& options,
                                        const Clock& clock) {
  BANYAN_RETURN_IF_ERROR(CheckOptions(target, draft, options));
  if (prompt.empty()) return absl::InvalidArgumentError("the prompt is empty");
  Lap lap(clock);
  TextTree texts(prompt.back());
  BANYAN_ASSIGN_OR_RETURN(TextReader reader,
                          TextReader::Start(target, texts, prompt));
  std::optional<TextReader> drafter;
  const int length = static_cast<int>(prompt.size());
  if (draft != nullptr && length <= draft->context_limit()) {
    BANYAN_ASSIGN_OR_RETURN(drafter, TextReader::Start(*draft, texts, prompt));
    BANYAN_RETURN_IF_ERROR(draft->Finish());
  }
  BANYAN_RETURN_IF_ERROR(target.Finish());
  BeamFindings out;
  out.prefill_ns = lap();
  Search search(std::move(reader), std::move(drafter), texts, length, stop,
                options);
  BANYAN_RETURN_IF_ERROR(search.Run(lap, out));
  return out;
}

}  // namespace banyan
